"""Reduction kernels."""
from __future__ import annotations

from mindspore import ops

from ..raw import Raw
from ..table import FLOATS, define

_reduce_sum = {False: ops.ReduceSum(False), True: ops.ReduceSum(True)}


def ops_sum(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    if raw.size == 0:
        # ReduceSum of an empty tensor returns uninitialised memory (2.7.2 to 2.10).
        shape = tuple(1 if i in dims else n for i, n in enumerate(raw.shape) if keepdim or i not in dims)
        return ops.zeros(shape, raw.dtype)
    return _reduce_sum[keepdim](raw, dims)


define("sum", cpu=ops_sum, dtypes=FLOATS)
