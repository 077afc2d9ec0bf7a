"""Results that go into the memory of ``out=`` and change nothing else."""
from __future__ import annotations

from typing import Any

from ..backend.table import Kernel
from ..core.modes import modes
from ..core.tensor_base import TensorBase, array_of, is_tracked, touch
from ..core.writable import is_plain_target
from ..tape.ways import in_arrays


def is_written(kernel: Kernel, input: Any, other: Any, out: TensorBase) -> bool:
    """Compute an elementwise operation of two tensors in the memory of ``out`` if nothing else has to be done: all three are row-major, of
    one floating-point dtype and shape. Return whether it was done."""
    kind, shape = out._ms_dtype, out._ms_shape
    if out._ms_stride is not None or not kind.is_floating_point or 0 in shape or not is_plain_target(out):
        return False
    for item in (input, other):
        if not isinstance(item, TensorBase) or item._ms_dtype is not kind or item._ms_shape != shape or item._ms_stride is not None:
            return False
        if (modes.grad and is_tracked(item)) or (item._ms_storage is out._ms_storage and item is not out):
            return False
    into = getattr(kernel.host[kind.name], "into", None) if in_arrays(input, other) else None
    if into is None:
        return False
    into(array_of(input), array_of(other), array_of(out))
    touch(out)
    return True


def is_copied(result: TensorBase, out: TensorBase) -> bool:
    """Copy a result into the memory of ``out`` if that is all that there is to do. Return whether it was done."""
    if out._ms_dtype is not result._ms_dtype or out._ms_shape != result._ms_shape or not is_plain_target(out) or not in_arrays(result):
        return False
    if modes.grad and is_tracked(result):
        return False
    array_of(out)[...] = array_of(result)
    touch(out)
    return True
