"""Values at one index per row, or at unique indices, as in the results of sorting, maxima and minima."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.index import numpy_gather, row_places
from ...backend.table import kernel
from ...core.modes import followed_capture, modes
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, fresh, is_tracked
from ...tape import vocabulary as v
from ...tape.node import Node, edge_of, named, refuse_history
from ...tape.saved_values import saved_input
from ...tape.ways import ways
from ...tape.windows import no_view
from .._dispatch import call
from .._named import call_node
from ..shape import views

_gather = kernel("gather")


class _Chosen(Node):
    """Node of a result that consists of the input's elements at unique positions. ``places`` are their flat indices."""

    __slots__ = ("places", "shape", "own")
    places: Any
    shape: tuple[int, ...]
    own: tuple[int, ...]

    def _spread(self, array: Array) -> Array:
        whole = np.zeros(self.shape, array.dtype)
        whole.reshape(-1)[self.places] = array.reshape(self.places.shape)
        return whole

    def _taken(self, array: Array) -> Array:
        return array.reshape(-1)[self.places].reshape(self.own)

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradient of the input: zeros except at the indices."""
        self.saved[0].value(self, False)  # torch saves the indices, and raises if they were modified in place
        return (v.mapped(gradients[0], self._spread, self._taken, "ValueSelectingReductionBackward0"),)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """An empty tuple: only indices are saved, no values."""
        return ()


def _values_in_array(
    input: TensorBase, dim: int, indices: TensorBase, label: str, shown: TensorBase, keepdim: bool = True
) -> TensorBase | None:
    if LEVELS or not input._ms_shape:
        return None
    array, index = array_of(input), array_of(indices)
    own = index.shape if keepdim else index.shape[:dim] + index.shape[dim + 1 :]
    found = fresh(numpy_gather(array, dim, index).reshape(own))
    if modes.grad and isinstance(input, TensorBase) and is_tracked(input):
        refuse_history(found._ms_dtype)
        node: Any = named(_Chosen, label)([edge_of(input)])
        node.places, node.shape, node.own = row_places(input._ms_shape, dim, index), input._ms_shape, own
        node.saved = (saved_input(shown),)
        found._ms_node = node
    return found


@ways(host=_values_in_array)
def values_at(input: TensorBase, dim: int, indices: TensorBase, label: str, shown: TensorBase, keepdim: bool = True) -> TensorBase:
    """Return ``input`` at unique ``indices`` along ``dim``; ``keepdim`` False removes the dimension, of length 1.

    ``shown`` are the indices as returned to the caller.
    """
    found = call(_gather, (input,), dim, indices, label=label)
    return found if keepdim or not input._ms_shape else _without(found, dim, label)


def _without_in_graph(found: TensorBase, dim: int, label: str) -> TensorBase:
    squeezed = views.squeeze(found, dim)
    return call_node(no_view(squeezed), label) if followed_capture() else squeezed


@ways(captured=_without_in_graph)
def _without(found: TensorBase, dim: int, label: str) -> TensorBase:
    """Return values without the dimension ``dim`` of length 1, as one autograd node named ``label`` and not as a view, as in torch."""
    squeezed = views.squeeze(found, dim)
    return squeezed if LEVELS else call_node(no_view(squeezed), label)


def _dim_dropped(indices: TensorBase, dim: int) -> TensorBase:
    array = array_of(indices)
    return fresh(array.reshape(array.shape[:dim] + array.shape[dim + 1 :]))


@ways(host=_dim_dropped, captured=views.squeeze)
def without_dim(indices: TensorBase, dim: int) -> TensorBase:
    """Return indices without the dimension ``dim`` of length 1; the result does not count as a view."""
    return no_view(views.squeeze(indices, dim))
