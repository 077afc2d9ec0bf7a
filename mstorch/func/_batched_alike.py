"""Calls under vmap with tensors whose values are alike in all slices.

Inputs of a transform within a vmap are batched in it, also those that were not: each slice has its own tangent, or its own gradient. Their
values are the same in all slices, and so are the results of all operations on such tensors. In torch only the tangents have a batch
dimension. Therefore functions may read these values, results without a derivative (indices, masks) are not batched, and random numbers
follow the rules for tensors that are not batched.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from .._src.aten.kinds import is_shaped_by_values, reads_values
from .._src.core.marks import is_captured
from .._src.core.overriding import state
from .._src.core.second_names import operation_of
from .._src.core.tensor_base import TensorBase, twin
from ._batched import BatchedTensor, Map, Op, Rule, everywhere, is_of, one_of_all, outside, some_are, take_alike_by
from ._batched_layers import draw, draws_without_gradient
from ._batched_loop import is_in_place, unmapped_error


def take_alike(rule: Rule, op: Op, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call in which the slices of some tensors are alike."""
    map = op.map
    alike = not some_are(False, map, (*args, *kwargs.values()))
    if args and is_in_place(op.name):
        target = args[0]
        if is_of(target, map) and target.alike and not alike:
            raise unmapped_error(op)
        if alike and isinstance(target, TensorBase) and not is_of(target, map):
            if target._ms_dtype.is_integral:
                return op.public(target, *_values_of(map, args[1:]), **_values_of(map, kwargs))
            _become_batched(target, op)
    if not alike:
        with outside(map.depth):
            return rule(op, args, kwargs)
    if op.name in draws_without_gradient():
        return draw(map, op.public, tuple(_values_of(map, args)), _values_of(map, kwargs))
    if _is_of_values(op.name):
        with outside(map.depth):
            return op(*_values_of(map, args), **_values_of(map, kwargs))
    with outside(map.depth):
        result = rule(op, args, kwargs)
    return result if getattr(function, "draws", False) and map.randomness == "different" else _marked(result, map)


def are_alike(map: Map, values: Iterable[Any]) -> bool:
    """Return whether the slices over ``map`` of all tensors among the values are alike, in a vmap with slices."""
    return map.size > 0 and not some_are(False, map, values)


def _is_of_values(name: str) -> bool:
    """Return whether a function returns a Python number, or a result without a derivative whose shape depends on values."""
    plain = operation_of(name)
    return reads_values(plain) or plain in _OF_VALUES or is_shaped_by_values(plain) and plain not in _WITH_GRADIENT


_OF_VALUES = frozenset(("allclose", "argwhere", "is_nonzero", "histogram", "histogramdd"))
_WITH_GRADIENT = frozenset(("masked_select", "repeat_interleave", "index", "take"))


def _values_of(map: Map, values: Any) -> Any:
    """Return arguments with each tensor of ``map``, all alike, replaced by one of its slices."""
    kind = type(values)
    if issubclass(kind, BatchedTensor):
        return one_of_all(values) if values.map is map else values
    if isinstance(values, (tuple, list)):
        items = [_values_of(map, item) for item in values]
        return kind(*items) if hasattr(values, "_fields") else kind(items)
    if kind is slice:
        return slice(*(_values_of(map, item) for item in (values.start, values.stop, values.step)))
    return {key: _values_of(map, item) for key, item in values.items()} if kind is dict else values


def _marked(result: Any, map: Map) -> Any:
    """Return a result whose slices are alike; tensors of integers, which have no derivative, are not batched."""
    kind = type(result)
    if issubclass(kind, BatchedTensor) and result.map is map:
        if result._ms_dtype.is_integral:
            return one_of_all(result)
        result.alike = True
    elif isinstance(result, (tuple, list)):
        items = [_marked(item, map) for item in result]
        if any(item is not before for item, before in zip(items, result)):
            return kind(*items) if hasattr(result, "_fields") and not hasattr(result, "n_fields") else kind(items)
    return result


def _become_batched(target: Any, op: Op) -> None:
    """Turn a tensor that a transform's function made into a batched one whose slices are alike, in place: it is written, and then has
    tangents or gradients that differ between the slices."""
    map = op.map
    if isinstance(target, BatchedTensor) or not _made_within(target, map):
        return
    if target._ms_auto is not None and target._ms_auto.base is not None or sys.getrefcount(target._ms_storage) > _SOLE:
        raise unmapped_error(op)  # a view of it would not see what is written
    inner = twin(target)
    inner._ms_auto = target._ms_auto
    made = everywhere(inner, [one for one in state.maps if one.depth <= map.depth])
    held = made
    while isinstance(held.value, BatchedTensor):
        held = held.value
    held.value = held.value.contiguous()
    target.__class__ = BatchedTensor
    target.value, target.bdim, target.map, target.alike = made.value, made.bdim, made.map, True


# References to the storage of a tensor without views: the tensor's two, and the argument of ``getrefcount``.
_SOLE = 3


def _made_within(target: Any, map: Map) -> bool:
    """Return whether a tensor was made by a function that is transformed within the vmap."""
    return state.levels > map.levels and not is_captured(target._ms_storage)


take_alike_by(take_alike)
