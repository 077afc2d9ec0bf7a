"""Tensors that got another shape without autograd being told: their gradients must fit what was recorded."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import vocabulary as v
from .engine import running
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
        lead = len(own) - len(self.shape)
        if lead < 0 or any(length not in (1, given) for length, given in zip(self.shape, own[lead:])):
            raise RuntimeError(f"{self._maker()} - got {list(own)} but expected shape compatible with {list(self.shape)}")
        return (v.fit(gradient, self.shape),)

    def _maker(self) -> str:
        """What node the gradient came from, of several the first to run, and which of its gradients it is."""
        waiting = list(running.passes[-1].first)
        seen, makers = set(waiting), []
        while waiting:
            node = waiting.pop()
            for place, edge in enumerate(node.edges):
                if edge is not None and edge[0] is self:
                    makers.append((node.sequence, node.name(), place))
                elif edge is not None and edge[0] not in seen:
                    seen.add(edge[0])
                    waiting.append(edge[0])
        if not makers:
            return "invalid gradient at index 0"
        _, name, place = max(makers)
        return f"Function {name} returned an invalid gradient at index {place}"

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
