"""Tensors whose shape or dtype was changed without autograd's knowledge: their gradients are converted to the original shape and dtype."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend.arrays import Array
from ..core.dtype import dtype
from ..core.resized import on_resize
from ..core.tensor_base import TensorBase
from . import vocabulary as v
from .node import Node, named
from .passes import check_fit
from .primitives import dtype_name


class Refitted(Node):
    """Node in front of the original node of a tensor whose shape or dtype has changed; it reports the original node's name."""

    __slots__ = ("shape", "kind", "recorded", "number")
    shape: tuple[int, ...]
    kind: Any
    recorded: Node
    number: int

    @property
    def width(self) -> int:
        """Number of outputs, large enough for the output number of the tensor."""
        return self.number + 1

    def fit(self, gradients: list[Any]) -> None:
        """Reshape and cast the gradient to the shape and dtype that the tensor had when its node was made."""
        if len(gradients) > self.number and gradients[self.number] is not None:
            gradients[self.number] = self._fitted(gradients[self.number])

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Pass the gradients on."""
        return (self._fitted(gradients[self.number]),)

    def _fitted(self, gradient: Array) -> Any:
        own = v.shape_of(gradient)
        check_fit(self, own, self.shape)
        found = v.fit(gradient, self.shape)
        return found if dtype_name(found) == self.kind.name else v.converted(found, self.kind.name)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The edges of the original node."""
        return self.recorded.next_functions


def refit(tensor: TensorBase, shape: tuple[int, ...], kind: dtype) -> None:
    """Insert a node that converts the gradients of a tensor whose shape or dtype has changed since its node was made."""
    node = tensor._ms_node
    if node is None or shape == tensor._ms_shape and kind is tensor._ms_dtype or isinstance(node, Refitted):
        return
    made: Any = named(Refitted, type(node).label)([(node, tensor._ms_number)])
    made.shape, made.kind, made.recorded, made.number = shape, kind, node, tensor._ms_number
    tensor._ms_node = made


on_resize.append(lambda tensor, shape: refit(tensor, shape, tensor._ms_dtype))
