"""In-place writes to some elements of a tensor in which several elements share memory (an expanded one, or a window of ``unfold``)."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..backend.arrays import Array
from ..backend.geometry import flat_index
from ..core.modes import grad_set_to
from ..core.tensor_base import TensorBase, tensor_of
from ..tape.moving import beside
from ._dispatch import values_of


def write_alone(target: TensorBase, result: TensorBase, again: Callable[[TensorBase], TensorBase]) -> TensorBase:
    """Return the result of an operation on ``target`` that writes some elements, such that elements that share memory have the same value:
    the last one that is written. (The values of the others would overwrite it.)

    ``again`` is the operation: elements for which it returns the same, whatever their value was, are written.
    """
    with grad_set_to(False):
        old, new = values_of(target), values_of(result)
        if old is None or new is None:  # without values there is nothing to settle
            return result
        other = values_of(again(beside(tensor_of((old == 0).astype(old.dtype)), target)))
        assert other is not None
        written = (_differ(old, new) | ~_differ(new, other)).reshape(-1)
        assert target._ms_stride is not None
        places = flat_index(target._ms_shape, target._ms_stride, 0).reshape(-1)
        memory = np.zeros(int(places.max()) + 1, old.dtype)
        memory[places] = old.reshape(-1)
        values = new.reshape(-1)
        for at in np.flatnonzero(written):  # in order: the last one counts; by slices, as NumPy 1 selects no bfloat16 by a mask
            memory[places[at] : places[at] + 1] = values[at : at + 1]
        settled = beside(tensor_of(memory[places].reshape(target._ms_shape)), target)
    settled._ms_node, settled._ms_number = result._ms_node, result._ms_number
    return settled


def _differ(first: Array, second: Array) -> Array:
    """Return where two arrays differ; NaN equals NaN."""
    return (first != second) & ((first == first) | (second == second))
