"""Operations that the host computes in one piece, and that are composed of others everywhere else.

Their gradient is a function of arrays; where the gradient itself is recorded, the composed form is differentiated in its stead.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.modes import grad_set_to, modes
from .._core.storage import Storage
from .._core.tangents import LEVELS, levels_of_all
from .._core.tensor_base import TensorBase, is_tracked
from . import engine
from .node import Node, bare, edge_of, named, saved_input

Slope = Callable[..., Sequence[Any]]


class _Whole(Node):
    """The node of such an operation. ``slope(gradient, *inputs)`` takes and gives arrays, ``composed(*inputs)`` tensors."""

    __slots__ = ("slope", "composed")
    slope: Any
    composed: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradients of the inputs."""
        g = gradients[0]
        if recorded:
            return self._again(g)
        return self.slope(bare(g) if isinstance(g, TensorBase) else g, *[item.value(self, False) for item in self.saved])

    def _again(self, g: Any) -> Sequence[Any]:
        tensors = [item.value(self, True) for item in self.saved]
        recorded = modes.grad
        with grad_set_to(True):
            found = self.composed(*tensors)
        ends = [None if edge is None else edge_of(tensor) for tensor, edge in zip(tensors, self.edges)]
        return engine.run([(edge_of(found), g)], True, recorded, ends)  # type: ignore[list-item, arg-type]

    def release(self) -> None:
        """Let go of the inputs, and of what the slope keeps."""
        self.saved = self.slope = None


def in_one_piece(tensors: Sequence[Any]) -> bool:
    """Whether tensors are where such an operation computes: in the host's memory, without tangents, hooks or a capture."""
    if modes.native is not None or modes.saved_hooks:
        return False
    for tensor in tensors:
        if tensor._storage.__class__ is not Storage:
            return False
    return not (LEVELS and levels_of_all(tensors))


def followed(tensors: Sequence[Any]) -> bool:
    """Whether the operation is to be recorded."""
    if modes.grad:
        for tensor in tensors:
            if is_tracked(tensor):
                return True
    return False


def record(result: Any, tensors: Sequence[Any], label: str, slope: Slope, composed: Callable[..., Any]) -> Any:
    """Give ``result`` the node of its operation."""
    node: Any = named(_Whole, label)([edge_of(tensor) for tensor in tensors])
    node.slope, node.composed = slope, composed
    node.saved = [saved_input(tensor) for tensor in tensors]
    result._node = node
    return result

