"""The reduction operators on NumPy arrays."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from ._types import ReduceOp

_NUMBERS: dict[ReduceOp, Any] = {
    ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or, ReduceOp.BXOR: np.bitwise_xor,
}  # fmt: skip
_TRUTHS: dict[ReduceOp, Any] = {
    ReduceOp.SUM: np.logical_or, ReduceOp.PRODUCT: np.logical_and, ReduceOp.MIN: np.logical_and, ReduceOp.MAX: np.logical_or,
    ReduceOp.BAND: np.logical_and, ReduceOp.BOR: np.logical_or, ReduceOp.BXOR: np.logical_xor,
}  # fmt: skip


def combine(op: ReduceOp, parts: Sequence[Array], out: Array) -> None:
    """Reduce ``parts``, in order, into ``out``; 16-bit floats are accumulated in float32."""
    if not out.size:
        return
    if len(parts) == 1:
        np.copyto(out, parts[0])
        return
    function = (_TRUTHS if out.dtype == np.bool_ else _NUMBERS)[op]
    narrow = out.dtype.itemsize == 2 and out.dtype.kind not in "iu"
    first, second, *rest = [part.astype(np.float32) for part in parts] if narrow else parts
    total = function(first, second) if narrow else function(first, second, out=out)
    for part in rest:
        function(total, part, out=total)
    if op is ReduceOp.AVG:
        np.divide(total, len(parts), out=total)
    if narrow:
        out[...] = total.astype(out.dtype)
