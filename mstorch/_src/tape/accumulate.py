"""Gradients accumulate into the ``grad`` of leaves."""
from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.geometry import contiguous_strides
from ..backend.halves import BFLOAT16
from ..backend.raw import NAME_OF, NAME_OF_NP, Raw, raw_dtype
from ..backend.table import kernel
from ..core.modes import modes
from ..core.overriding import PLAIN, dispatches
from ..core.sparse_parts import is_sparse
from ..core.storage import NATIVE, Storage
from ..core.tangents import LEVELS
from ..core.tensor_base import (
    TensorBase,
    array_of,
    fresh,
    is_meta,
    is_tracked,
    put_raw,
    strides_of,
    tensor_of,
    to_meta,
    touch,
    value_of,
)
from ..quiet import silent
from .bare import bare_of, dressed
from .leaf_gradients import copied_like, copied_with_history, has_rows, in_order_of_leaf, may_be_adopted, own_on_device
from .node import Accumulate
from .passes import check_fit
from .replaced import all_replaced

_add = kernel("add")


def add(first: Any, second: Any) -> Any:
    """Return the sum of two gradients of one tensor, in the memory order of the first if their strides differ, as in torch."""
    if first.__class__ is np.ndarray and second.__class__ is np.ndarray:
        if first.dtype == BFLOAT16 == second.dtype or first.dtype.names:
            return _add.host[NAME_OF_NP[first.dtype]](first, second)
        alike = first.strides == second.strides or first.dtype != second.dtype or first.shape != second.shape or 0 in first.strides
        found = silent.add(first, second, out=None if alike else np.empty_like(first))  # in the memory order of the sum so far
        return found if found.__class__ is np.ndarray else np.asarray(found)
    if isinstance(first, Raw) and isinstance(second, Raw):
        name = NAME_OF[raw_dtype(first)]
        return _add[name](first, second) if NAME_OF[raw_dtype(second)] == name else first + second
    first, second = dressed(first), dressed(second)
    return second + first if is_sparse(first) and not is_sparse(second) else first + second


def put_gradient(node: Accumulate, gradient: Any, recorded: bool) -> None:
    """Accumulate a gradient into a leaf, and run the leaf's post-accumulate hooks."""
    tensor = node.tensor
    auto = tensor._ms_auto
    if not auto.leaf and not is_tracked(tensor):
        return  # it was detached in place in the meantime
    if is_meta(tensor):
        gradient = to_meta(tensor)
    marks = node.marks
    if marks is not None and marks.before:
        gradient = _changed_before(node, gradient, recorded)
        auto = tensor._ms_auto
    if gradient.__class__ is np.ndarray:
        if gradient.shape != node.shape or (gradient.shape != tensor._ms_shape and auto.grad is None):
            gradient = _of_leafs_shape(node, gradient)
    elif isinstance(gradient, TensorBase):
        gradient = _added_by_class(auto, gradient, recorded)
    seen = None if auto.grad is None or marks is None or not marks.hooks else dressed(gradient)
    with _accumulating:
        if gradient is not None:
            _add_to(auto, tensor, gradient, recorded)
    if auto.post or node.marks is not None:
        _run_after(node, auto.grad if seen is None else seen)


def _added_by_class(auto: Any, gradient: Any, recorded: bool) -> Any:
    """Accumulate a gradient whose class handles operators, by its own; return what is left to add: None, or another tensor's value."""
    if type(gradient) not in PLAIN and dispatches(type(gradient)):
        auto.grad = gradient.detach() if auto.grad is None else auto.grad + gradient
        return None
    return gradient if recorded else bare_of(gradient, False)


def _changed_before(node: Accumulate, gradient: Any, recorded: bool) -> Any:
    """Return a leaf's gradient as the hooks that run before it is accumulated return it."""
    given = (dressed(gradient),)
    for hook in list((node.before or {}).values()):
        changed = hook(given)
        if changed is not None:
            given = all_replaced(hook, given, changed)
    return bare_of(given[0], recorded)


def _of_leafs_shape(node: Accumulate, gradient: Array) -> Array:
    """Return an array's sum to the shape that the leaf had in forward, in the memory order and size that it has now."""
    tensor = node.tensor
    first = tensor._ms_auto.grad is None
    if gradient.shape == node.shape:
        return in_order_of_leaf(gradient, tensor) if first else gradient
    check_fit(node, gradient.shape, node.shape)
    gradient = bare_of(tensor_of(gradient).sum_to_size(node.shape), False)
    steps = zip(node.shape, contiguous_strides(node.shape), strides_of(tensor))
    if first and any(length != 1 and step != own for length, step, own in steps):
        return np.array(np.broadcast_to(gradient, tensor._ms_shape))
    return gradient


def _run_after(node: Accumulate, gradient: Any) -> None:
    """Run a leaf's post-accumulate hooks, then those of its node."""
    tensor = node.tensor
    auto = tensor._ms_auto
    for hook in list(auto.post.values()) if auto.post else ():
        _check_nothing(hook(tensor), tensor)
    for hook in list((node.hooks or {}).values()):
        hook((), (gradient,))


# Two threads may add to one leaf. Adding calls code that may run a backward pass, so the lock is reentrant.
_accumulating = threading.RLock()
if hasattr(os, "register_at_fork"):  # the thread that held it does not exist in the child
    os.register_at_fork(after_in_child=_accumulating._at_fork_reinit)  # type: ignore[attr-defined]


def _add_to(auto: Any, tensor: TensorBase, gradient: TensorBase | Array, recorded: bool) -> None:
    """Add a gradient to the one that a leaf has: into the same tensor, unless the sum is recorded."""
    held = auto.grad
    if held is None:
        auto.grad = _first_gradient(tensor, gradient, recorded)
    elif recorded or (held._ms_sparse and not is_sparse(gradient)):
        auto.grad = add(held, dressed(gradient))
    elif gradient.__class__ is np.ndarray:
        _add_array(held, gradient)
    elif is_sparse(gradient) or not _fits(held, gradient):
        held.add_(dressed(gradient))  # which casts, or raises torch's error
    elif held._ms_storage.__class__ in NATIVE and held._ms_auto is held._ms_node is None:
        put_raw(held, value_of(add(held, dressed(gradient))), True)
    else:
        auto.grad = add(held, dressed(gradient))


def _fits(held: TensorBase, gradient: Any) -> bool:
    """Return False for a device's value with another shape or dtype than the gradient that is there."""
    return gradient.__class__ is not Raw or (tuple(gradient.shape) == held._ms_shape and gradient.dtype == held._ms_dtype.ms)


def _first_gradient(tensor: TensorBase, gradient: TensorBase | Array, recorded: bool) -> Any:
    """Return a gradient as a tensor of a leaf's own."""
    if gradient.__class__ is np.ndarray:  # the leaf's gradient must not be shared: an array with other references is copied
        whole = gradient if may_be_adopted(gradient, tensor) else copied_like(gradient, tensor)
        return fresh(whole) if modes.native is None and whole.flags.c_contiguous else tensor_of(whole)
    if not isinstance(gradient, TensorBase):
        return own_on_device(gradient, tensor)
    # A sparse gradient is replaced, not modified, when more is added, so that another object over the same parts suffices.
    if recorded and not gradient._ms_sparse:
        grad = copied_with_history(gradient, tensor)
    else:
        grad = gradient.detach() if not recorded and gradient._ms_sparse and has_rows(gradient) else gradient.clone()
    return grad.detach() if LEVELS and not recorded else grad  # as in torch, an untracked gradient has no tangents


def _add_array(held: TensorBase, gradient: Array) -> None:
    """Add an array into the gradient of a leaf in the host's memory."""
    plain = held._ms_auto is held._ms_node is None and held._ms_storage.__class__ is Storage
    if not plain or gradient.dtype != held._ms_dtype.np or gradient.shape != held._ms_shape:
        held._ms_array = None if held._ms_storage.moved else held._ms_array
        held.add_(tensor_of(gradient))  # which raises torch's error for a leaf whose shape has changed
        return
    array = array_of(held)
    if array.dtype == BFLOAT16:
        array[...] = _add.host["bfloat16"](array, gradient)
    else:
        silent.add(array, gradient, out=array)
    touch(held)


def _check_nothing(result: TensorBase | int | None, tensor: TensorBase) -> None:
    if isinstance(result, TensorBase):
        if result is tensor:
            return
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if result is not None:
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
