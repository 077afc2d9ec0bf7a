"""``Tensor.grad_dtype``: the dtype of the gradients that a leaf accumulates, its own unless another is set."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ...core.dtype import dtype
from ...core.nested_parts import kept
from ...core.promotion import WORDS
from ...core.tensor_base import TensorBase, auto_of
from ...tape.accumulate import put_gradient
from ...tape.bare import bare_of, dressed
from ...tape.node import Accumulate, node_of
from .._dispatch import cpp_word


class _Converts(Accumulate):
    """Accumulation node of a leaf with a ``grad_dtype``: gradients are cast to it before hooks and callers get them."""

    __slots__ = ()

    def fit(self, gradients: list[Any]) -> None:
        """Convert the gradient, in place in its list, and sum it to the leaf's shape."""
        if gradients[0] is None:
            return
        given = dressed(gradients[0])
        wanted = _dtype_of(self.tensor)
        found = given if wanted is None or given._ms_dtype is wanted else given.to(wanted)
        if tuple(found.shape) != tuple(self.shape):
            found = found.sum_to_size(self.shape)
        if found is not given:
            gradients[0] = bare_of(found, isinstance(gradients[0], TensorBase))

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Accumulate the gradient into the leaf's ``grad``."""
        found = list(gradients)
        self.fit(found)
        put_gradient(self, found[0], recorded)
        return ()


class _End:
    """Replacement for the weak reference ``Auto.accumulator`` of a leaf with a ``grad_dtype``. A call returns the leaf's accumulation node,
    and makes a new node if the old one has been freed."""

    __slots__ = ("tensor", "node")

    def __init__(self, tensor: TensorBase) -> None:
        self.tensor = weakref.ref(tensor)
        self.node: weakref.ref[Accumulate] | None = None

    def __call__(self) -> Accumulate:
        found = None if self.node is None else self.node()
        if found is None:
            tensor = self.tensor()
            found = _Converts(kept(tensor))
            self.node = weakref.ref(found)
            hooks = found.tensor._ms_auto.hooks
            if hooks:
                found.pre = {0: hooks}
        return found


def _dtype_of(tensor: TensorBase) -> dtype | None:
    """Return the required dtype of a tensor's gradients, ``grad_dtype``; None if any dtype is accepted."""
    set_to: Any = False if tensor._ms_auto is None else tensor._ms_auto.grad_dtype
    return tensor._ms_dtype if set_to is False else set_to


def check_gradient(tensor: TensorBase, value: TensorBase) -> None:
    """Raise torch's error unless a tensor may be assigned as another's gradient."""
    wanted = _dtype_of(tensor)
    if wanted is not None and value._ms_dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{cpp_word(value._ms_dtype)}' to a tensor with grad_dtype '{WORDS[wanted.name]}'. "
            "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype "
            "attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor "
            "and its gradient may break downstream systems that assume they match."
        )


def _get(self: TensorBase) -> dtype | None:
    if node_of(self) is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return _dtype_of(self)


def _set(self: TensorBase, value: dtype | None) -> None:
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if node_of(self) is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    auto = auto_of(self)
    if value is not None and auto.grad is not None and auto.grad._ms_dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{WORDS[value.name]}' because there is already a gradient with dtype "
            f"'{cpp_word(auto.grad._ms_dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new "
            "grad_dtype matches the existing gradient's dtype."
        )
    auto.grad_dtype = value
    before = None if auto.accumulator is None else auto.accumulator()
    auto.accumulator = end = _End(self)
    if before is not None:  # graphs that already end at the node convert too
        before.__class__ = _Converts
        end.node = weakref.ref(before)


grad_dtype = property(_get, _set, doc="The dtype of the gradients that the leaf accumulates; None if any will do.")
