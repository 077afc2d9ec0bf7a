"""Tangents of tensors: reading, setting, propagation to views and aliases, and updates by in-place writes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backend.arrays import Array
from ..backend.raw import Raw
from ..core.dtype import dtype
from ..core.modes import modes
from ..core.tangents import LEVELS, below, keep, levels_of, levels_of_all
from ..core.tensor_base import TensorBase, auto_of
from ..core.writable import check_history

# Functions of higher modules, set there: the same view of another base, a copy in given strides, a write, zeros like a tensor.
same_view: list[Callable[[Any, Any], Any]] = []
relaid: list[Callable[[Any, Any], Any]] = []
write_into: list[Callable[[Any, Any], None]] = []
zeros_for: list[Callable[[Any], Any]] = []


def tangent_of(tensor: TensorBase, level: int) -> Any:
    """Return the tangent of a tensor at a level, or None. The tangent of a view is a view of its base's tangent."""
    auto = tensor._ms_auto
    if auto is None:
        return None
    if auto.tangents is not None and level in auto.tangents:
        return auto.tangents[level]
    base = auto.base
    if base is None or base._ms_auto is None or not base._ms_auto.tangents or level not in base._ms_auto.tangents:
        return None
    with below(level):
        return same_view[0](tensor, base._ms_auto.tangents[level])


def give(tensor: TensorBase, level: int, tangent: TensorBase) -> None:
    """Set the tangent of a tensor; the tangent is copied if its strides differ from the tensor's."""
    if tangent._ms_stride != tensor._ms_stride:
        with below(level):
            tangent = relaid[0](tangent, tensor)
    keep(auto_of(tensor), level, tangent)


def carry(source: TensorBase, made: TensorBase) -> None:
    """Copy the tangents of a tensor to another tensor over the same elements."""
    for level in levels_of(source):
        keep(auto_of(made), level, tangent_of(source, level))


def mapped(source: TensorBase, made: TensorBase, function: Callable[[Any], Any]) -> None:
    """Set the tangents of a linear function's result, by applying the function to the tangents of its input."""
    if not made._ms_dtype.is_integral:
        for level in levels_of(source):
            with below(level):
                tangent = function(tangent_of(source, level))
            give(made, level, tangent)


def mapped_apart(source: TensorBase, made: Sequence[Any], function: Callable[[Any], Sequence[Any]]) -> None:
    """Set the tangents of a linear function's results ``made``, by applying the function to the tangents of its input ``source``.

    ``mapped`` does this for a function with a single result."""
    for level in levels_of(source):
        with below(level):
            tangents = function(tangent_of(source, level))
        for item, tangent in zip(made, tangents):
            give(item, level, tangent)


def offset_in(tangent: TensorBase, source: TensorBase, offset: int, kind: dtype | None = None) -> int:
    """Return the storage offset in the tangent that corresponds to ``offset`` in the tensor's storage."""
    size = source._ms_dtype.itemsize if kind is None else kind.itemsize
    return int(offset + (tangent._ms_offset - source._ms_offset) * source._ms_dtype.itemsize // size)


def write(target: TensorBase, made: Any | None) -> None:
    """Update the tangents of a tensor that was just written to: to the tangents of the written value, or to none for a constant (None)."""
    write_parts(target, made, write_into[0], True)


def write_parts(target: TensorBase, source: Any | None, put: Callable[[Any, Any], None], whole: bool = False) -> None:
    """Update the tangents of a tensor after parts of it were overwritten by ``source``, by calling ``put(tensor, values)``.

    An existing tangent is written in place, so that its views change too; otherwise a tangent of the base is created.
    """
    levels = levels_of_all((target, source))
    if not levels or target._ms_dtype.is_integral:
        return
    refuse(target, source)
    for level in levels:
        with below(level):
            old, new = tangent_of(target, level), None if source is None else tangent_of(source, level)
            if old is None:
                whole = _tangent_holder(target, level)
                keep(auto_of(whole), level, zeros_for[0](whole))
                old = tangent_of(target, level)
            check_history(old)
            if new is old:
                continue
            put(old, zeros_for[0](target if whole or source is None else source) if new is None else new)


def _tangent_holder(target: TensorBase, level: int) -> Any:
    """Return the tensor that holds the tangent: the base of a view, unless the view has a tangent of its own at this level."""
    auto = target._ms_auto
    return target if auto is None or auto.base is None or level in (auto.tangents or {}) else auto.base


def refuse(*tensors: TensorBase | Array | Raw | None) -> None:
    """Raise NotImplementedError if tangents would be lost: MindSpore has no forward mode."""
    if modes.native is not None and LEVELS and levels_of_all(tensors):
        raise NotImplementedError("mstorch: forward mode goes through neither a graph that is captured nor MindSpore's own training")
