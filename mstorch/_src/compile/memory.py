"""Pass the memory of tensors to graphs, and write results back into it, on the host and on a device.

Inputs of a device graph are the memory itself; strided views are passed as they are if a first test graph shows that these are read
correctly. An output may alias an input or another output: persistent outputs are copied.
"""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..backend.device_memory import HAS_WRITES, dense, is_dense, primitive_window
from ..backend.primitives import run
from ..backend.raw import NAME_OF, ON_CPU, Raw, face, from_numpy, raw_size, small_array
from ..backend.table import kernel
from ..backend.tape import native_set_to
from ..backend.trace import KernelBreak, capture
from ..core.modes import modes
from ..core.storage import DeviceMemory, Storage
from ..core.tensor_base import array_of, put_array, put_raw, tensor_of, value_of, whole_storage, wrap

_clone = kernel("clone")


def has_memory(tensor: Any) -> bool:
    """Return whether a tensor is in host or device memory, which a graph can take."""
    return tensor._ms_storage.__class__ in (Storage, DeviceMemory)


def stays_behind(tensor: Tensor) -> bool:
    """Return whether a tensor is on the CPU while graphs run on a device."""
    return not ON_CPU and tensor._ms_storage.__class__ is not DeviceMemory


def refuse_cpu(what: str, place: str | None = None) -> None:
    """Raise GraphBreak: MindSpore would compute CPU tensors on the device."""
    raise KernelBreak(f"{what}, and MindSpore's graphs compute on the device", place)


def input_of(tensor: Any) -> Raw:
    """Return a tensor's elements as the input of a graph."""
    if ON_CPU and tensor._ms_storage.__class__ is Storage and modes.native is None:
        array = tensor._ms_array
        if array is None or tensor._ms_storage.moved:
            array = array_of(tensor)
        return from_numpy(array) if array.flags.c_contiguous and not array.dtype.names else value_of(tensor)
    raw = value_of(tensor)
    return raw if ON_CPU or is_dense(raw) or graphs_read_windows() else dense(raw)


@cache
def graphs_read_windows() -> bool:
    """Return whether graphs read non-contiguous views correctly; determined once by running a graph and reading its result."""
    if not HAS_WRITES:
        return False
    memory = from_numpy(np.arange(12, dtype=np.float32))
    first, second = (from_numpy(np.zeros((2, 2), np.float32)) for _ in range(2))
    added = kernel("add")["float32"]
    try:
        with native_set_to(False):
            graph, _ = capture(lambda _: [added(first, second)], [first, second], "windows")
            assert graph is not None
            found = graph([primitive_window(memory, (2, 2), steps, 4) for steps in ((2, 1), (1, 3))])[0].asnumpy().tolist()
    except (RuntimeError, TypeError, ValueError):
        return False
    return bool(found == [[8.0, 12.0], [11.0, 15.0]])


def state_value(tensor: Any) -> Raw:
    """Return the whole storage of a known tensor as a graph input, in the tensor's shape if the tensor covers all of it."""
    whole = whole_storage(tensor)
    all_of_it = tensor._ms_stride is None and not tensor._ms_offset and whole.numel() == tensor.numel()
    if ON_CPU:
        array = array_of(whole)
        return from_numpy(array.reshape(tensor._ms_shape) if all_of_it else array)
    return input_of(tensor if all_of_it else whole)


def copy_of(raw: Raw) -> Raw:
    """Return a copy of the values."""
    return from_numpy(np.array(raw.asnumpy(), order="C")) if ON_CPU else _clone[NAME_OF[raw.dtype]](raw)


_SMALL = 1 << 12
"""Elements up to which a result is read by its bytes, which takes less time than MindSpore's own array and a copy of it."""


def result_of(raw: Raw, kept: bool) -> Tensor:
    """Return a graph output as a tensor; on a device it is copied only if it persists (``kept``)."""
    if ON_CPU:
        return tensor_of(small_array(raw) if raw_size(raw) <= _SMALL else raw.asnumpy().copy())
    return wrap(copy_of(raw)) if kept else raw


def constant(array: Array) -> Any:
    """Return a constant result as a tensor on the device of the graph."""
    return tensor_of(array.copy()) if ON_CPU else wrap(from_numpy(array.copy()))


def gradient_of(raw: Raw | None) -> Any:
    """Convert a gradient that MindSpore computed to a raw array for mstorch's autograd: a NumPy array on the CPU, else a copy on the
    device.
    """
    if raw is None:
        return None
    return raw.asnumpy().copy() if ON_CPU else copy_of(raw)


def seed_of(gradient: Any) -> Raw:
    """Convert a gradient from mstorch's autograd (a raw array) to a contiguous MindSpore tensor."""
    if ON_CPU or not isinstance(gradient, Raw):
        return face(np.asarray(gradient))
    return dense(gradient)


def put_state(tensor: Any, made: Any) -> None:
    """Write a graph output to a known tensor's whole storage."""
    whole = whole_storage(tensor)
    if ON_CPU:
        put_array(whole, array_of(made).reshape(-1))
    else:
        put_raw(whole, run("Reshape", made if isinstance(made, Raw) else value_of(made), whole._ms_shape), own=False)
    tensor._ms_counter.version += tensor._ms_counter is not whole._ms_storage
