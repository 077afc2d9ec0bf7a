"""Results where kernels refuse to compute: no elements to take, or none to give."""
from __future__ import annotations

from mindspore import ops

from ..raw import Raw, full
from .storage import ops_reshape

_add = ops.Add()
_mul = ops.Mul()
_sum = ops.ReduceSum(False)


def filled(shape: tuple[int, ...], value: float, name: str, *raws: Raw) -> Raw:
    """One value everywhere, tied for the tape to the tensors that it would have come from: their gradients are zero."""
    result = full(shape, value, name)
    for raw in raws:
        if raw._requires_grad:
            # A sum over no elements is uninitialised memory on CPU; a view of them adds nothing to a result.
            part = _mul(_sum(raw), 0) if raw.size else _nothing(raw, len(shape))
            result = _add(result, part) if raw.size or 0 in shape else result
    return result


def _nothing(raw: Raw, rank: int) -> Raw:
    return ops_reshape(raw, (0,) + (1,) * (rank - 1)) if rank else raw
