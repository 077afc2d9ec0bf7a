"""bfloat16 arrays on NumPy 2, which MindSpore, built for NumPy 1, does not support."""
from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor as Raw

from . import runtime


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
        if runtime.HOST_TARGET != "CPU":
            return read(self.astype(mindspore.float32)).astype(kind)
        if not self.size:
            return np.empty(self.shape, kind)
        return np.asarray(_Memory(self if self.is_contiguous() else self.contiguous())).view(kind)

    Raw.asnumpy = asnumpy
