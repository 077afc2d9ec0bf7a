"""Results where kernels refuse to compute: no elements to take, or none to give."""
from __future__ import annotations

from mindspore import ops

from ..raw import Raw, full
from .storage import ops_reshape as _reshape

_add = ops.Add()
_mul = ops.Mul()
_sum = ops.ReduceSum(False)
_concat = ops.Concat(0)


def filled(shape: tuple[int, ...], value: float, name: str, *raws: Raw) -> Raw:
    """One value everywhere, tied for the tape to the tensors that it would have come from: their gradients are zero."""
    result = full(shape, value, name)
    for raw in raws:
        if not raw._requires_grad:
            continue
        if raw.size:
            result = _add(result, _mul(_sum(raw), 0))
        elif result.size:
            # A sum over no elements is uninitialised memory on CPU (2.7.2 to 2.10): they are put beside the result.
            result = _reshape(_concat((_reshape(result, (-1,)), _reshape(raw, (0,)))), shape)
        else:
            result = _add(result, _reshape(raw, shape))
    return result
