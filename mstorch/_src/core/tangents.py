"""Bookkeeping of forward mode: the entered levels, and the tangents of tensors at each.

Tangents are stored by level in a tensor's autograd state; a view also has those of its base, as the corresponding view of the base's
tangent. While a tangent at one level is computed, only the levels below it are visible, so that each directional derivative is
differentiated by the outer levels only.
"""
from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..leaving import END, Block, each, values_again
from .auto import Auto
from .modes import modes
from .tensor_class import TensorBase

LEVELS: list[int] = []  # those entered, the outermost first; empty almost always, which operations ask before anything else
_next = itertools.count().__next__
_holders: dict[int, list[Any]] = {}


def new() -> tuple[int, Callable[[], Any]]:
    """Return a new level, to be added to ``LEVELS`` by the caller, and the callback that leaves the level."""
    level = _next()
    _holders[level] = []
    return level, each(functools.partial(LEVELS.remove, level), functools.partial(_forget, level))


def enter() -> int:
    """Enter a new level inside all others, and return it."""
    level, _ = new()
    modes.levels += 1
    LEVELS[END:] = (level,)
    return level


def leave(level: int) -> None:
    """Leave a level and free its tangents."""
    LEVELS.remove(level)
    modes.levels -= 1
    _forget(level)


def _forget(level: int) -> None:
    for reference in _holders.pop(level):
        auto = reference()
        if auto is not None and auto.tangents:
            auto.tangents.pop(level, None)


class below(Block):
    """Context manager in which only the levels outside of ``level`` are visible, among those that have been entered."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> None:
        hidden = modes.hidden.union([other for other in LEVELS if other >= self.level])
        self.at_end(values_again(modes, "hidden"))
        modes.hidden = hidden


class without(Block):
    """Context manager in which one level is invisible."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.at_end(values_again(modes, "hidden"))
        modes.hidden = modes.hidden | {self.level}


def seen(level: int) -> bool:
    """Return whether a level is visible."""
    return modes.forward and not modes.inference and level not in modes.hidden


def on() -> bool:
    """Return whether any level is visible."""
    return bool(LEVELS) and modes.forward and not modes.inference and not modes.hidden.issuperset(LEVELS)


def levels_of(tensor: TensorBase) -> list[int]:
    """Return the visible levels at which a tensor has a tangent, the outermost first."""
    auto = tensor._ms_auto
    if auto is None or not on():
        return []
    hidden, found = modes.hidden, auto.tangents
    if auto.base is not None:
        above = auto.base._ms_auto
        if above is not None and above.tangents:
            found = {**above.tangents, **(found or {})}
    return sorted(level for level, tangent in found.items() if level not in hidden and tangent is not None) if found else []


def is_dual(tensor: TensorBase) -> bool:
    """Return whether a tensor has a tangent at a visible level."""
    return bool(levels_of(tensor))


def levels_of_all(tensors: Sequence[Any]) -> list[int]:
    """Return the levels at which one of the values has a tangent."""
    if not on():
        return []
    hidden, found = modes.hidden, set()
    for tensor in tensors:
        auto = getattr(tensor, "_ms_auto", None)
        if auto is None:
            continue
        if auto.base is not None:
            found.update(levels_of(tensor))
        elif auto.tangents:
            found.update([level for level, tangent in auto.tangents.items() if tangent is not None and level not in hidden])
    return sorted(found)


def keep(auto: Auto, level: int, tangent: TensorBase | None) -> None:
    """Store a tangent in a tensor's autograd state."""
    if level not in _holders:
        return
    if auto.tangents is None:
        auto.tangents = {}
    auto.tangents[level] = tangent
    _holders[level].append(weakref.ref(auto))


def forget(auto: Auto, level: int) -> None:
    """Remove a view's tangent at a level; the tangent of its base, if any, stays."""
    keep(auto, level, None)
