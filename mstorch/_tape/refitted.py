"""Tensors that got another shape without autograd being told: their gradients must fit what was recorded."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import vocabulary as v
from .engine import check_fit
from .node import Node, named


class Refitted(Node):
    """Stands before the node of a tensor that has another shape than what the node made, and is called as that."""

    __slots__ = ("shape", "recorded", "number")
    shape: tuple[int, ...]
    recorded: Node
    number: int

    @property
    def width(self) -> int:  # type: ignore[override]
        """Outputs keep their numbers."""
        return self.number + 1

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradient in the shape that was recorded."""
        gradient = gradients[self.number]
        own = v.shape_of(gradient)
        check_fit(self, own, self.shape)
        return (v.fit(gradient, self.shape),)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """Where the gradients of the recorded node go."""
        return self.recorded.next_functions


def refit(tensor: Any, shape: tuple[int, ...]) -> None:
    """Let gradients of a tensor, which had a shape when its node made it, and has another one now, be fitted to that."""
    node = tensor._node
    if node is None or shape == tensor._shape or isinstance(node, Refitted):
        return
    made: Any = named(Refitted, type(node).label)([(node, tensor._number)])
    made.shape, made.recorded, made.number = shape, node, tensor._number
    tensor._node = made
