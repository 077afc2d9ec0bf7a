"""Raw arrays of tensors, and tensors of raw arrays, without autograd."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.device_memory import primitive_window
from ..backend.raw import Raw
from ..core.modes import modes
from ..core.overriding import PLAIN, dispatches
from ..core.storage import Storage
from ..core.strides import dense_order
from ..core.tangents import LEVELS
from ..core.tensor_base import TensorBase, array_of, is_meta, strides_of, tensor_of, twin, value_of, window, wrap
from .duals import carry


def bare_twin(tensor: TensorBase) -> TensorBase:
    """Return a detached alias of the tensor: same storage, shape and strides."""
    made = twin(tensor)
    made._ms_node, made._ms_number = None, 0
    if LEVELS:
        carry(tensor, made)
    return made


def bare(tensor: TensorBase) -> Array | Raw:
    """Return a tensor's raw array: a NumPy array on the host, a MindSpore tensor elsewhere."""
    host = tensor._ms_storage.__class__ is Storage and (modes.native is None or not modes.native.follows)
    return array_of(tensor) if host else value_of(tensor)


def on_host(tensor: TensorBase) -> bool:
    """Return whether the tensor is in host memory."""
    return tensor._ms_storage.__class__ is Storage


def dressed(value: TensorBase | Array) -> Any:
    """Return a tensor that shares the memory of a raw array; a tensor is returned unchanged."""
    if isinstance(value, TensorBase) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return _expanded(value) if repeats(value) else tensor_of(value)
    return wrap(value) if modes.native is not None or (value.is_contiguous() and value.size > 1) else _expanded_raw(value)


def repeats(array: Array) -> bool:
    """Return whether an array is expanded (has strides of 0)."""
    if array.size > 1:
        return 0 in array.strides
    if array.size:  # a new axis has stride 0 too, but is writable; after reshape strides are arbitrary
        return not array.flags.writeable
    # NumPy's own empty arrays have stride 0 as well, but no base of one element.
    return isinstance(array.base, np.ndarray) and array.base.size == 1


def _expanded(array: Array) -> TensorBase:
    """Return a tensor that stays expanded, as torch's gradient of a sum does."""
    if not array.size:
        one = tensor_of(np.array(array.base, array.dtype).reshape(1))
        return window(one._ms_storage, one._ms_dtype, array.shape, (0,) * array.ndim, 0)
    if array.size == 1:
        one = tensor_of(np.array(array.reshape(1), order="C"))
        return window(one._ms_storage, one._ms_dtype, array.shape, (0,) * array.ndim, 0)
    once = tensor_of(np.array(array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)], order="C"))
    strides = [0 if step == 0 else own for step, own in zip(array.strides, strides_of(once))]
    return window(once._ms_storage, once._ms_dtype, array.shape, tuple(strides), once._ms_offset)


def _expanded_raw(raw: Any) -> TensorBase:
    """Return a tensor over an expanded or permuted MindSpore tensor, with its strides; other strided views are copied."""
    steps, shape = tuple(raw.stride()), tuple(raw.shape)
    if 0 not in steps:
        return wrap(raw, steps if raw.size > 1 and dense_order(shape, steps) is not None else None)
    if raw.size < 2:  # MindSpore reports other strides for empty tensors; torch has 0 if a single number was expanded
        below = getattr(raw, "_shown", None)
        if below is None or below.size != 1:
            return wrap(raw)
        once = wrap(primitive_window(below, (1,), (1,), 0))
        return window(once._ms_storage, once._ms_dtype, shape, (0,) * len(shape), 0)
    once = wrap(primitive_window(raw, tuple(1 if step == 0 else n for n, step in zip(shape, steps)), steps, 0))
    strides = tuple(0 if step == 0 else own for step, own in zip(steps, strides_of(once)))
    return window(once._ms_storage, once._ms_dtype, shape, strides, 0)


def bare_of(value: TensorBase | None, recorded: bool) -> Any:
    """Return the raw array of a gradient. Return the tensor itself if ``recorded``, if it is sparse or a meta tensor, or if its class
    handles operators."""
    if recorded or not isinstance(value, TensorBase) or value._ms_sparse or is_meta(value):
        return value  # a sparse gradient, or one without memory, stays a tensor
    if type(value) not in PLAIN and dispatches(type(value)):
        return value  # so does one whose class handles operators
    return bare(value)
