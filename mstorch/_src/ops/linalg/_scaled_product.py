"""``beta * input + alpha * (a @ b)`` by a device's fused kernel."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Number
from ...backend.table import kernel
from ...core.dtype import float32
from ...core.tensor_base import TensorBase
from ...tape.apply import apply
from ...tape.ways import fused
from .._numbers import fitting

_KERNELS = {2: kernel("addmm"), 3: kernel("baddbmm")}


def in_one_kernel(input: TensorBase, a: TensorBase, b: TensorBase, beta: Number, alpha: Number) -> Any:
    """Return the result for matrices, or batches of them, on a device; None if the kernel does not support the call.

    The kernel does not support empty operands or a factor of zero, for which a NaN in the matrix must be ignored. Raise RuntimeError for a
    factor that overflows float32.
    """
    if beta.__class__ not in (int, float) or alpha.__class__ not in (int, float) or not beta or not alpha:
        return None
    op, kind = _KERNELS[len(a._ms_shape)], a._ms_dtype
    if not fused(op.op, kind, input, a, b) or any(item._ms_dtype is not kind or 0 in item._ms_shape for item in (input, a, b)):
        return None
    if a._ms_shape[:-2] != b._ms_shape[:-2] or a._ms_shape[-1] != b._ms_shape[-2]:
        return None
    shape = (*a._ms_shape[:-1], b._ms_shape[-1])
    if len(input._ms_shape) > len(shape) or any(n not in (1, m) for n, m in zip(reversed(input._ms_shape), reversed(shape))):
        return None
    return apply(op, kind, (input, a, b), (float(fitting(beta, float32)), float(fitting(alpha, float32))))
