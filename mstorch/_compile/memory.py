"""Pass tensors' memory to graphs, and put their results back into it, on the host and on a device.

The inputs of a device's graph are the memory itself, windows on it too, where a first graph shows that they are read as such. What a graph
gives may lie in the memory of an input, or of another result: what is kept of it is a copy.
"""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._backend.device_memory import HAS_WINDOWS, dense, is_dense, primitive_window
from .._backend.primitives import run
from .._backend.raw import NAME_OF, ON_CPU, Raw, from_numpy
from .._backend.table import kernel
from .._backend.tape import native_set_to
from .._backend.trace import KernelBreak, capture
from .._core.storage import DeviceMemory, Storage, face
from .._core.tensor_base import array_of, put_array, put_raw, tensor_of, value_of, whole_storage, wrap
from .._tensor import Tensor

_clone = kernel("clone")


def has_memory(tensor: Any) -> bool:
    """Return whether a tensor lies in memory that a graph can be given: of the host, or of a device."""
    return tensor._storage.__class__ in (Storage, DeviceMemory)


def stays_behind(tensor: Tensor) -> bool:
    """Return True for a tensor of the CPU in a process whose graphs compute on a device."""
    return not ON_CPU and tensor._storage.__class__ is not DeviceMemory


def refuse_cpu(what: str, place: str | None = None) -> None:
    """End the capture, or refuse the graph: MindSpore would compute tensors of the CPU on the device."""
    raise KernelBreak(f"{what}, and MindSpore's graphs compute on the device", place)


def input_of(tensor: Any) -> Raw:
    """Return a tensor's elements as the input of a graph."""
    raw = value_of(tensor)
    return raw if ON_CPU or is_dense(raw) or graphs_read_windows() else dense(raw)


@cache
def graphs_read_windows() -> bool:
    """Return whether a graph reads what a window of its memory shows; found out once, by one graph and one read."""
    if not HAS_WINDOWS:
        return False
    memory = from_numpy(np.arange(12, dtype=np.float32))
    given = from_numpy(np.zeros((2, 2), np.float32))
    negated = kernel("neg")["float32"]
    try:
        with native_set_to(False):
            graph, _ = capture(lambda _: [negated(given)], [given], "windows")
            assert graph is not None
            found = [graph([primitive_window(memory, (2, 2), steps, 4)])[0].asnumpy().tolist() for steps in ((2, 1), (1, 3))]
    except (RuntimeError, TypeError, ValueError):
        return False
    return found == [[[-4.0, -5.0], [-6.0, -7.0]], [[-4.0, -7.0], [-5.0, -8.0]]]


def state_value(tensor: Any) -> Raw:
    """Return the memory of a known tensor's whole storage as the input of a graph, in the tensor's shape where it has all of it."""
    whole = whole_storage(tensor)
    all_of_it = tensor._stride is None and not tensor._offset and whole.numel() == tensor.numel()
    if ON_CPU:
        array = array_of(whole)
        return from_numpy(array.reshape(tensor._shape) if all_of_it else array)
    return input_of(tensor if all_of_it else whole)


def copy_of(raw: Raw) -> Raw:
    """Return the same values in memory of their own."""
    return from_numpy(np.array(raw.asnumpy(), order="C")) if ON_CPU else _clone[NAME_OF[raw.dtype]](raw)


def result_of(raw: Raw, kept: bool) -> Any:
    """Return what a graph gave as a tensor; on a device as it is where it does not live on (``kept``)."""
    if ON_CPU:
        return tensor_of(raw.asnumpy().copy())
    return wrap(copy_of(raw)) if kept else raw


def constant(array: np.ndarray) -> Any:
    """Return what a function gives that depends on none of its inputs, as a tensor where its graph computes."""
    return tensor_of(array.copy()) if ON_CPU else wrap(from_numpy(array.copy()))


def gradient_of(raw: Raw | None) -> Any:
    """Return a gradient that MindSpore computed, as our tape takes it."""
    if raw is None:
        return None
    return raw.asnumpy().copy() if ON_CPU else copy_of(raw)


def seed_of(gradient: Any) -> Raw:
    """Return a bare gradient of our tape, as MindSpore's takes it."""
    if ON_CPU or not isinstance(gradient, Raw):
        return face(np.asarray(gradient))
    return dense(gradient)


def put_state(tensor: Any, made: Any) -> None:
    """Write what a graph gave for a known tensor's whole storage."""
    whole = whole_storage(tensor)
    if ON_CPU:
        put_array(whole, array_of(made).reshape(-1))
    else:
        put_raw(whole, run("Reshape", made if isinstance(made, Raw) else value_of(made), whole._shape), own=False)
    tensor._counter.version += tensor._counter is not whole._storage
