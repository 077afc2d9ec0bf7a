"""What MindSpore, built for NumPy 1, does not do on NumPy 2: arrays of bfloat16, and rows of ``mindspore.dataset``."""
from __future__ import annotations

from types import ModuleType
from typing import Any

import mindspore
import mindspore.dataset.engine.datasets_user_defined as _rows
import numpy as np
from mindspore import Tensor as Raw

from . import runtime
from .turns import LOCK


class _Memory:
    """NumPy array interface of a contiguous MindSpore tensor's memory. An array made from it needs no copy, and keeps the tensor alive."""

    __slots__ = ("__array_interface__", "raw")

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.__array_interface__ = {"version": 3, "shape": raw.shape, "typestr": "<i2", "data": (raw.data_ptr(), False)}


def read_bfloat16(kind: np.dtype[Any]) -> None:
    """Make ``asnumpy`` of mindspore.Tensor support bfloat16, as ``kind``: its own code supports NumPy 1 only.

    On the CPU the array shares memory, as in other dtypes; from a device the values are cast to float32 and back, which is exact.
    """
    read, bfloat16 = Raw.asnumpy, mindspore.bfloat16

    def asnumpy(self: Any) -> Any:
        if self.dtype is not bfloat16:
            return read(self)
        if runtime.HOST_TARGET == "GPU":  # which has no cast of bfloat16
            return np.frombuffer(bytearray(self.get_bytes()), kind).reshape(self.shape)
        if runtime.HOST_TARGET != "CPU":
            with LOCK:
                self = self.astype(mindspore.float32)
            return read(self).astype(kind)
        if not self.size:
            return np.empty(self.shape, kind)
        return np.asarray(_Memory(self if self.is_contiguous() else self.contiguous())).view(kind)

    Raw.asnumpy = asnumpy


class _Numpy1(ModuleType):
    """NumPy, whose ``array(…, copy=False)`` copies where it must, as NumPy 1 does."""

    def __init__(self) -> None:
        super().__init__("numpy")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def array(value: Any, *args: Any, copy: Any = True, **kwargs: Any) -> Any:
        """Return an array."""
        return np.array(value, *args, copy=copy or None, **kwargs)  # type: ignore[arg-type,unused-ignore]  # None is NumPy 2's


def read_rows() -> None:
    """Make ``GeneratorDataset`` take rows of numbers: it asks NumPy for arrays without a copy, which NumPy 2 refuses for them."""
    if not isinstance(_rows.np, _Numpy1):
        _rows.np = _Numpy1()
