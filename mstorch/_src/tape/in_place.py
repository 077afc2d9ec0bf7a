"""Kernels of a device that write over their first operand: which operation of a thread may use them, and what it returns."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend.host.narrow import row_major
from ..backend.raw import Raw, from_numpy
from ..backend.table import kernel as kernel_of
from ..core.modes import modes
from ..core.storage import NATIVE, Counter, DeviceMemory
from ..core.tangents import LEVELS
from ..core.tensor_base import TensorBase, array_of, become, is_tracked, on_device, tensor_of, value_of
from ..core.writable import can_change, change_raw
from .bare import bare_twin, on_host
from .operands import all_simple, as_raw

if TYPE_CHECKING:
    from ..backend.table import Kernel

_clone = kernel_of("clone")


class _Target(threading.local):
    """The tensor that an in-place operation of this thread modifies; a kernel may write its result into the tensor's memory."""

    tensor: Any = None
    ops: tuple[str, ...] = ()
    recorded = False


current = _Target()
_ALSO = {"add": ("add", "add_scaled")}
"""Operations that are a single kernel of another name with some arguments."""


def computed_for(
    target: TensorBase, function: Callable[[], Any], others: Sequence[Any], op: str | None = None, options: Iterable[str] = ()
) -> TensorBase:
    """Compute the result of an in-place operation; returns the target itself, or a tensor of its memory with a node, if a kernel wrote into
    the target (see ``change`` and ``changed``).

    ``op`` is the operation's own name, ``options`` are the names of its keyword arguments: only an operation that is a single kernel of the
    same name lets that kernel write over the target, since others, as divisions that round, may read the target again.
    """
    if target._ms_storage.__class__ is not DeviceMemory or modes.native is not None or LEVELS:
        return function()
    before = current.tensor, current.ops, current.recorded
    current.tensor = target
    current.ops = () if op is None or "rounding_mode" in options else _ALSO.get(op, (op,))
    current.recorded = modes.grad and any(isinstance(item, TensorBase) and is_tracked(item) for item in (target, *others))
    try:
        return function()
    finally:
        current.tensor, current.ops, current.recorded = before


def change(target: TensorBase, op: str, *args: Any) -> bool:
    """Run an operation in place if its first operand is the target of the current in-place operation, which autograd does not record;
    return whether it ran."""
    return target is current.tensor and not current.recorded and change_raw(target, op, *map(as_raw, args))


def changed(kernel: Kernel, kind: str, inputs: Sequence[Any], args: tuple[Any, ...], keeps_first: bool) -> TensorBase | None:
    """Run a kernel over the memory of its first input, the target of the current operation, and return its result; None if it can't.

    ``keeps_first``: the kernel's gradient reads the first input, so that a recorded operation needs its old value.
    """
    target, op = inputs[0], kernel.op
    if op not in current.ops or target._ms_dtype.name != kind or not all_simple(args) or not all(map(_is_near, inputs[1:])):
        return None
    result = bare_twin(target)
    if not can_change(result, op, *args):
        return None
    shapes = [item.shape if isinstance(item, np.ndarray) else item._ms_shape for item in inputs[1:] if item is not None]
    if shapes and np.broadcast_shapes(target._ms_shape, *shapes) != target._ms_shape:
        return None  # the operation raises torch's error
    if current.recorded and keeps_first:
        detach_snapshot(target)  # as in torch, the gradient reads a copy of the old value
    if not change_raw(result, op, *map(as_raw, inputs[1:]), *args):
        return None
    return result if current.recorded else target


def _is_near(operand: Any) -> bool:
    """Return whether an operand is on the device, or a number, or left out."""
    if operand is None:
        return True
    if isinstance(operand, np.ndarray):
        return not operand.shape
    return isinstance(operand, TensorBase) and (operand._ms_storage.__class__ is DeviceMemory or not operand._ms_shape)


def detach_snapshot(made: TensorBase) -> None:
    """Copy a saved snapshot into memory of its own, before the target that it shares memory with is modified."""
    if on_host(made) or (modes.native is None and made._ms_storage.__class__ in NATIVE):
        version = made._ms_counter.version
        become(made, tensor_of(row_major(array_of(made))) if on_host(made) else on_device(own_value(made)))
        made._ms_counter = Counter(version)


def own_value(made: TensorBase) -> Raw:
    """Return a copy of the tensor's elements, as a tensor of MindSpore's."""
    if on_host(made):
        return from_numpy(np.array(array_of(made), order="C"))
    return _clone[made._ms_dtype.name](value_of(made))
