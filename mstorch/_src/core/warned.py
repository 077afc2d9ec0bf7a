"""Warnings with the stack level of the user: the innermost line outside of mstorch."""
from __future__ import annotations

import os
import sys
import types
import warnings
from typing import Any

_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep  # modules may have torch's names (``install``)
_given: set[str] = set()
_registries: dict[str, tuple[dict[Any, Any], list[Any]]] = {}  # by message: Python's record of it, and the file and line of the first time
_always = [False]  # the value of ``set_warn_always``


DECORATED_CLASS = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. "
    "To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else."
)
NO_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
    "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
    "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
CONVERTED = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using tensor.detach() first."
)


def _caller() -> tuple[types.FrameType, int]:
    """Return the innermost frame outside of mstorch, and its distance from the caller of this function."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame, level = frame.f_back, level + 1
    return frame, level


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called mstorch, at any depth."""
    warnings.warn(message, category, stacklevel=_caller()[1])


def warn_shown_once(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn like ``warn``, but Python's default filters show it once per process, not once per line: torch warns at a line of its own."""
    frame = _caller()[0]
    registry, place = _registries.setdefault(message, ({}, [frame.f_code.co_filename, frame.f_lineno]))
    if not any(isinstance(key, tuple) for key in registry):  # not shown yet, or shown by a filter that shows all
        place[:] = frame.f_code.co_filename, frame.f_lineno
    file, line = place
    warnings.warn_explicit(message, category, file, line, module=frame.f_globals.get("__name__", "<unknown>"), registry=registry)


def warn_once(message: str, key: str | None = None, strictly: bool = False) -> None:
    """Warn once per process for a key (by default the message); each time if ``set_warn_always`` is on, unless ``strictly``."""
    key = message if key is None else key
    if key not in _given or _always[0] and not strictly:
        _given.add(key)
        warn(message)


def is_warn_always_enabled() -> bool:
    """Return whether ``set_warn_always`` is on."""
    return _always[0]


def set_warn_always(b: bool, /) -> None:
    """Set whether warnings normally given once per process are given each time."""
    _always[0] = bool(b)


def warn_of_plain_method(in_python: bool) -> None:
    """Warn of a ``__torch_function__`` that is a plain method: in a function that torch writes in Python each time, in others once."""
    text = "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define it as a "
    text += "classmethod."
    if in_python:
        warn(text, DeprecationWarning)
    else:
        warn_once(text)
