"""The memory of a leaf's gradient: in the leaf's order, and of nobody else."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.geometry import contiguous_strides
from ..backend.raw import NAME_OF, Raw, raw_dtype, raw_shape
from ..backend.table import kernel
from ..core.formats import sparse_coo
from ..core.modes import modes
from ..core.strides import broadcast_shape, dense_order
from ..core.tensor_base import TensorBase, in_order, strides_of, wrap
from .bare import dressed
from .node import Passed, edge_of

_clone = kernel("clone")


def in_order_of_leaf(gradient: Array, leaf: TensorBase) -> Array:
    """Return the gradient with the leaf's strides. Raise RuntimeError if it does not broadcast to the leaf's (changed) shape."""
    given = [step // gradient.itemsize for step in gradient.strides] if gradient.size else contiguous_strides(gradient.shape)
    own = strides_of(leaf)
    if dense_order(leaf._ms_shape, own) is None:  # if the leaf has gaps or overlaps, use row-major strides
        own = contiguous_strides(gradient.shape)
    steps = zip(gradient.shape, given, own)
    if all(length == 1 or step == wanted for length, step, wanted in steps):
        return gradient
    wide = broadcast_shape(leaf._ms_shape, gradient.shape)
    if wide != leaf._ms_shape:
        raise RuntimeError(f"output with shape {list(leaf._ms_shape)} doesn't match the broadcast shape {list(wide)}")
    return np.array(np.broadcast_to(gradient, wide))


def copied_like(gradient: Array, tensor: TensorBase) -> Array:
    """Return a copy in the memory order of the leaf."""
    if tensor._ms_stride is None or gradient.shape != tensor._ms_shape or not _is_dense(tensor):
        return np.array(gradient, order="C")
    order = np.argsort([-step for step in tensor._ms_stride], kind="stable")
    return np.array(gradient.transpose(order), order="C").transpose(np.argsort(order))


def tensor_in_order_of(gradient: TensorBase, leaf: TensorBase) -> TensorBase:
    """Return a new gradient in the leaf's memory order; row-major if the leaf is not dense."""
    strides = leaf._ms_stride
    if gradient._ms_stride == strides or gradient._ms_shape != leaf._ms_shape:
        return gradient
    if strides is None or dense_order(leaf._ms_shape, strides) is None:
        strides = contiguous_strides(leaf._ms_shape)
    return in_order(gradient, strides)


class _CopiedGradient(Passed):
    """Node of a leaf's gradient that is differentiable: the gradient is copied into memory of its own, which has no history."""

    __slots__ = ()

    label = "CopyBackwards"

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return nothing for the memory, and the gradient unchanged for what was copied."""
        return None, gradients[0]


def copied_with_history(gradient: TensorBase, leaf: TensorBase) -> TensorBase:
    """Return a copy of a gradient that autograd tracks, in the leaf's memory order and with torch's node: torch copies it into new memory
    of a leaf that is dense, and clones it otherwise."""
    copy = tensor_in_order_of(gradient.clone(), leaf)
    if copy._ms_node is not None and gradient._ms_shape == leaf._ms_shape and (leaf._ms_stride is None or _is_dense(leaf)):
        copy._ms_node, copy._ms_number = _CopiedGradient((None, edge_of(gradient))), 0
    return copy


def has_rows(gradient: Any) -> bool:
    """Return whether the parts of a sparse gradient lie in memory without gaps; torch copies others."""
    return gradient.layout is not sparse_coo or (gradient._indices().is_contiguous() and gradient._values().is_contiguous())


def own_on_device(gradient: Raw, tensor: TensorBase) -> TensorBase:
    """Return a MindSpore gradient as a tensor with its own memory, except in a MindSpore block, and the strides of ``tensor`` if dense."""
    if modes.native is not None:
        return dressed(gradient)
    if sys.getrefcount(gradient) > _OF_CALLERS:
        gradient = _clone[NAME_OF[raw_dtype(gradient)]](gradient)
    if tensor._ms_stride is None or not _is_dense(tensor) or raw_shape(gradient) != tensor._ms_shape:
        return wrap(gradient)
    return wrap(gradient, tensor._ms_stride)


def _is_dense(leaf: TensorBase) -> bool:
    return leaf._ms_stride is not None and dense_order(leaf._ms_shape, leaf._ms_stride) is not None


# References that a call adds to an argument, besides the parameter: Python 3.10 keeps one in the caller.
_PER_CALL = (lambda value: sys.getrefcount(value))(object()) - 2
_OF_CALLERS = 6 + 4 * _PER_CALL
"""References to a gradient that nobody else holds: those of four callers (`_walk`, `put_gradient`, `_add_to`, `_first_gradient`), the
parameter of the function that counts, and ``getrefcount``'s."""


def may_be_adopted(gradient: Array, tensor: TensorBase) -> bool:
    """Return whether a leaf may keep this array as its gradient: it has the leaf's strides, and nothing but the callers refers to it or its
    memory."""
    if not gradient.flags.writeable or sys.getrefcount(gradient) > _OF_CALLERS:
        return False
    base = gradient.base
    if base is not None and (
        base.__class__ is not np.ndarray or base.base is not None or base.nbytes != gradient.nbytes or sys.getrefcount(base) > 3
    ):
        return False
    if tensor._ms_stride is None:
        return gradient.flags.c_contiguous
    return tuple(step // gradient.itemsize for step in gradient.strides) == tensor._ms_stride
