"""Autograd nodes of operations on sparse tensors, whose gradients may have any layout and other indices.

``record`` creates such a node (of a sum, a product, a conversion). Computations at fixed indices are strided operations on the values,
without a node of their own: ``gradients`` connects a tensor with its values in both directions.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ..core.dtype import dtype
from ..core.formats import layout, sparse_coo
from ..core.modes import grad_set_to, modes
from ..core.no_memory import tells_no_memory
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import TensorBase, is_tracked
from ..tape.bare import bare_of, dressed
from ..tape.node import Node, edge_of, named
from ..tape.saved_values import saved_input
from .base import WORDS, SparseTensor, layout_word

Rule = Callable[..., Sequence[Any]]


class _Kept:
    """A sparse tensor saved for backward, with its version, or the object that a pack hook returned for it."""

    __slots__ = ("tensor", "version", "unpack")

    def __init__(self, tensor: Any) -> None:
        self.version = tensor._ms_counter.version
        self.tensor, self.unpack = tensor, None
        if modes.saved_hooks:
            pack, self.unpack = modes.saved_hooks[-1]
            with grad_set_to(False):
                self.tensor = pack(tensor.detach()), edge_of(tensor)

    def value(self, node: Any, recorded: bool) -> Any:
        """Return the saved tensor."""
        if self.unpack is not None:
            packed, edge = self.tensor
            found = self.unpack(packed)
            if recorded and edge is not None:
                found = found.detach()
                found._made_by(*edge)
            return found
        if self.tensor._ms_counter.version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{self.tensor.type()} {list(self.tensor._size)}] is at version {self.tensor._ms_counter.version}; expected version "
                f"{self.version} instead."
            )
        return self.tensor


class _Operation(Node):
    """Autograd node of an operation on sparse tensors, with a gradient rule on tensors of any layout."""

    __slots__ = ("rule", "kinds")
    rule: Any
    kinds: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients of the operands."""
        saved = [dressed(item.value(self, recorded)) for item in self.saved]
        found = self.rule(dressed(gradients[0]), *saved)
        return [
            None if edge is None else bare_of(_fitted(self, place, gradient, *self.kinds[place]), recorded)
            for place, (edge, gradient) in enumerate(zip(self.edges, found))
        ]


def _fitted(node: Node, place: int, gradient: Any, kind: dtype, layout: layout, inner: bool) -> Any:
    """Return a gradient cast to the operand's dtype, converted to strided if ``inner``. Raise torch's error for a gradient of another
    sparse layout."""
    if is_sparse(gradient):
        if gradient._layout is not sparse_coo and gradient._layout is not layout:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {place} - expected layout "
                f"{WORDS.get(layout, 'Strided')} but got {layout_word(gradient)}"
            )
        gradient = gradient.to_dense() if inner else gradient
    if gradient._ms_dtype is kind:
        return gradient
    if gradient._ms_dtype.is_complex and not kind.is_complex:
        gradient = gradient.real
    return gradient.to(kind)


def _saved(item: Tensor) -> Any:
    return _Kept(item) if is_sparse(item) else saved_input(item)


@tells_no_memory
def record(label: str, tensors: Sequence[Any], compute: Callable[[], Any], rule: Rule, saved: Sequence[Any] = ()) -> Any:
    """Run ``compute()`` as one node of the autograd graph, with the inputs ``tensors``; ``rule(gradient, *saved)`` returns their gradients.
    """
    parts = [tensor if isinstance(tensor, TensorBase) else None for tensor in tensors]
    if not (modes.grad and any(part is not None and is_tracked(part) for part in parts)):
        return compute()
    with grad_set_to(False):
        result = compute()
    edges = [None if part is None else edge_of(part) for part in parts]
    node: Any = named(_Operation, f"{label}Backward0")(edges)
    node.rule = rule
    node.kinds = [
        None if part is None else (part._ms_dtype, part.layout, not is_sparse(part) and part._ms_node is not None) for part in parts
    ]
    node.saved = [_saved(item) for item in saved]
    if isinstance(result, SparseTensor):
        result._made_by(node, 0)
    else:
        result._ms_node = node
    return result
