"""Aliases of keyword arguments: torch's names where mstorch's differ, and NumPy's (``x``, ``x1``, ``axis``).

They are looked up only after a call has failed because of a keyword.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .call_forms import NUMPY_NAMES, Form, forms_of
from .refusals import heard, in_python

_OF_PLACE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
_TARGETS = {other: name for name, others in NUMPY_NAMES.items() for other in others}


def in_own_words(
    spoken: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], error: Exception
) -> dict[str, Any] | None:
    """Return the keyword arguments of a failed call, with torch's aliases replaced by the function's parameter names; None if aliases are
    not the cause of ``error``."""
    if not named or error.__class__ is not TypeError:
        return None
    room, last = heard(spoken)
    if in_python(room, last):
        return None
    try:
        own = inspect.signature(function).parameters
    except ValueError:
        return None
    places = [parameter.name for parameter in own.values() if parameter.kind in _OF_PLACE]
    if all(name in own for name in named):
        return None
    method = room == "Tensor"
    for form in forms_of(room, last) or forms_of(room, last.removesuffix("_")):
        found = _renamed(form, own, places[method:], len(args) - method, named)
        if found is not None:
            return found
    return None


def _renamed(form: Form, own: Any, places: list[str], given: int, named: dict[str, Any]) -> dict[str, Any] | None:
    words = [parameter.name for parameter in form.parameters]
    found: dict[str, Any] = {}
    lacking = {parameter.name for parameter in form.parameters[given:] if not parameter.optional}
    for key, value in named.items():
        word = key if key in words else _TARGETS.get(key)
        if word not in words:
            return None
        place = words.index(word)
        by_word = form.parameters[place].by_word
        if not by_word and place < given:
            return None  # it was given by position
        name = word if word in own else places[place] if place < len(places) and not by_word else None
        if name is None or name in found:
            return None
        found[name] = value
        lacking.discard(word)
    return None if lacking else found
