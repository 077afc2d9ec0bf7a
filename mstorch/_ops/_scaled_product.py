"""``beta * input + alpha * (a @ b)`` by the one kernel that a device has for it."""
from __future__ import annotations

from typing import Any

from .._backend.raw import ON_CPU
from .._backend.table import kernel, serves
from .._core.dtype import float32
from .._core.modes import modes
from .._core.storage import DeviceMemory
from .._core.tangents import LEVELS
from .._tape.apply import apply
from ._numbers import fitting

_KERNELS = {2: kernel("addmm"), 3: kernel("baddbmm")}


def in_one_kernel(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """The result for matrices, or batches of them, on a device; None where the kernel does not take the call.

    A factor of zero, of which the kernel would make NaN of NaN, and empty operands are among what it does not take. RuntimeError for a
    factor that no float32 is.
    """
    if ON_CPU or modes.native is not None or LEVELS:
        return None
    if beta.__class__ not in (int, float) or alpha.__class__ not in (int, float) or not beta or not alpha:
        return None
    op, kind = _KERNELS[len(a._shape)], a._dtype
    if not all(item._storage.__class__ is DeviceMemory and item._dtype is kind and 0 not in item._shape for item in (input, a, b)):
        return None
    if not serves(op.op, kind.name) or a._shape[:-2] != b._shape[:-2] or a._shape[-1] != b._shape[-2]:
        return None
    shape = (*a._shape[:-1], b._shape[-1])
    if len(input._shape) > len(shape) or any(n not in (1, m) for n, m in zip(reversed(input._shape), reversed(shape))):
        return None
    return apply(op, kind, (input, a, b), (float(fitting(beta, float32)), float(fitting(alpha, float32))))
