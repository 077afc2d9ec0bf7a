"""Functions with one implementation for each type of storage, selected by an operand.

``@ways(array=…, raw=…)`` declares the implementations. If an implementation returns None, or there is none for the operand's storage, the
body of the decorated function computes the result.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import trace
from ..backend.arrays import Array
from ..backend.raw import Raw
from ..core.dtype import dtype
from ..core.modes import modes
from ..core.storage import Storage, home
from ..core.tangents import LEVELS
from ..core.tensor_base import TensorBase, array_of, recording, value_of

Function = Callable[..., Any]


def ways(
    *, at: int = 0, array: Function | None = None, raw: Function | None = None, native: Function | None = None,
    host: Function | None = None, device: Function | None = None, captured: Function | None = None, absent: Function | None = None,
) -> Callable[[Function], Function]:  # fmt: skip
    """Declare a function's implementations, dispatched on the storage of operand number ``at`` (or on its first item, if that is a list).

    For raw arrays: ``array`` for NumPy arrays, ``raw`` for MindSpore tensors. For tensors, by storage: ``host``, ``device``, ``captured``,
    ``absent``. ``native`` is the default of ``raw``, ``device`` and ``captured``."""
    bare: dict[type, Function | None] = {np.ndarray: array, Raw: raw or native}
    kinds = {"host": host, "device": device or native, "captured": captured or native, "absent": absent}
    of_tensors = any(kinds.values())

    def declare(function: Function) -> Function:
        @functools.wraps(function)
        def chosen(*args: Any, **named: Any) -> Any:
            operand = args[at]
            if operand.__class__ is list:
                operand = operand[0]
            way = bare.get(operand.__class__)
            if way is None and of_tensors and isinstance(operand, TensorBase):
                way = host if operand._ms_storage.__class__ is Storage and modes.native is None else kinds.get(home(operand).kind)
            found = None if way is None else way(*args, **named)
            return function(*args, **named) if found is None else found

        return chosen

    return declare


@ways(captured=lambda tensor: not modes.native.captured or not trace.depends(value_of(tensor)))
def is_known(tensor: TensorBase) -> bool:
    """Return whether a tensor's values can be read at no cost; in a capture, whether they do not depend on the graph's inputs."""
    return bool(home(tensor).reads_are_free)


def values_if_any(tensor: TensorBase) -> Array | None:
    """Return the values after waiting for the device or ending the capture; None for a meta tensor."""
    return None if home(tensor).kind == "absent" else array_of(tensor)


def in_arrays(*tensors: TensorBase) -> bool:
    """Return whether NumPy functions may compute the result from the tensors' elements."""
    if modes.native is not None:  # where MindSpore computes, which ``home`` says too, for each tensor by a call
        return False
    for tensor in tensors:
        if tensor._ms_storage.kind != "host":
            return False
    return True


def fused(op: str, kind: dtype, *tensors: TensorBase | None) -> bool:
    """Return whether the device has a fused kernel for an operation that is composed elsewhere, and no tangents are needed.

    None among the tensors is ignored.
    """
    if LEVELS:
        return False
    own = modes.native is None
    for tensor in tensors:
        # Memory of the host fuses nothing, and is the most frequent.
        if tensor is not None and ((own and tensor._ms_storage.__class__ is Storage) or not home(tensor).fuses(op, kind.name)):
            return False
    return True


def followed(tensors: Sequence[Any]) -> bool:
    """Return whether mstorch's autograd (not MindSpore's) has to track an operation on these tensors as one node."""
    return (modes.native is None or modes.native.follows) and recording(tensors)
