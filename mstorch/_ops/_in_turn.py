"""Elementwise writes to windows whose elements share memory (``unfold``, ``as_strided``): torch writes one after the other."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.modes import grad_set_to, modes
from .._core.storage import Storage
from .._core.strides import iteration_order, may_overlap
from .._core.tensor_base import TensorBase, array_of, recording, strides_of
from . import views
from ._in_place import in_place_form, stored


def _blocks(shape: tuple[int, ...], strides: Sequence[int]) -> list[int]:
    """The dimensions, from the outermost of torch's iteration, that are gone through one by one so that the rest names no place twice."""
    reach, order = 1, iteration_order(shape, [tuple(strides)])
    for place, dim in enumerate(order):
        if shape[dim] != 1:
            if strides[dim] < reach:
                return [d for d in reversed(order[place:]) if shape[d] != 1]
            reach = strides[dim] * (shape[dim] - 1) + reach
    return []


def written_in_turn(
    form: Callable[..., Any], function: Callable[..., Any], input: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """Write a tensor of shared places block by block, each seeing what the ones before it wrote; False if it has none.

    ``form`` is the in-place form of ``function``. To autograd each element is written once, as in torch.
    """
    shape = input._shape
    if input._storage.__class__ is not Storage or modes.native is not None or 0 in shape or not may_overlap(shape, strides_of(input)):
        return False
    outer = _blocks(shape, strides_of(input))
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]
    if not outer or any(len(value._shape) > len(shape) for value in tensors):
        return False
    if recording((input, *tensors)):
        before = np.array(array_of(input))
        with grad_set_to(False):
            written_in_turn(form, function, input, args, kwargs)
        written = np.array(array_of(input))
        array_of(input)[...] = before
        input._counter.version -= 1
        stored(input, function, args, kwargs)
        array_of(input)[...] = written
        return True
    count = input._counter.version
    for place in itertools.product(*(range(shape[dim]) for dim in outer)):
        chosen = dict(zip(outer, place))
        block = _part(input, chosen, len(shape))
        form(block, *(_part(value, chosen, len(shape)) for value in args), **{k: _part(v, chosen, len(shape)) for k, v in kwargs.items()})
    input._counter.version = count + 1
    return True


def elementwise_form(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The in-place form ``name`` of an elementwise function."""
    return in_place_form(function, name, in_turn=written_in_turn)


def rows_in_turn(form: Callable[..., Any], input: Any, dim: int) -> bool:
    """Write the rows along a dimension of a tensor of shared places one after the other; False if it has none."""
    shape = input._shape
    if input._storage.__class__ is not Storage or modes.native is not None or 0 in shape or recording((input,)):
        return False
    strides = strides_of(input)
    if not _blocks(shape, strides) or not strides[dim]:
        return False
    outer = [d for d in reversed(iteration_order(shape, [strides])) if d != dim]
    count = input._counter.version
    for place in itertools.product(*(range(shape[d]) for d in outer)):
        form(_part(input, dict(zip(outer, place)), len(shape)))
    input._counter.version = count + 1
    return True


def _part(value: Any, chosen: dict[int, int], rank: int) -> Any:
    """What an operand, broadcast to ``rank`` dimensions, has at the chosen entries; the dimensions stay, of length 1."""
    if not isinstance(value, TensorBase):
        return value
    lead = rank - len(value._shape)
    for dim, index in chosen.items():
        if dim >= lead and value._shape[dim - lead] != 1:
            value = views.narrow(value, dim - lead, index, 1)
    return value
