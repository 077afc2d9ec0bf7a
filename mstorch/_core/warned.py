"""Warnings with the stack level of the user: the innermost line outside of mstorch."""
from __future__ import annotations

import os
import sys
import warnings

_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep  # modules may have torch's names (``install``)
_given: set[str] = set()
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


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called mstorch, at any depth."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


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
