"""Arrays of bfloat16 on NumPy 2, which MindSpore, built for NumPy 1, leaves out."""
from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor as Raw

from . import runtime


class _Memory:
    """The memory of a contiguous raw tensor in the form that NumPy takes without a copy; an array over it keeps the tensor alive."""

    __slots__ = ("__array_interface__", "raw")

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.__array_interface__ = {"version": 3, "shape": raw.shape, "typestr": "<i2", "data": (raw.data_ptr(), False)}


def read_bfloat16(kind: np.dtype) -> None:
    """Let ``asnumpy`` of MindSpore's tensors read bfloat16, as ``kind``: its own code knows only the type of NumPy 1.

    On the CPU the array shares the memory, as in other dtypes; from a device the values come by way of float32, which is exact.
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

    Raw.asnumpy = asnumpy  # type: ignore[method-assign]
