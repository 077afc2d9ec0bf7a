"""MindSpore's initializers: values that its functions draw, from NumPy's global generator."""
from __future__ import annotations

from typing import Any

from mindspore.common.initializer import Initializer, initializer

from .raw import Raw


def drawn(raw: Raw) -> Raw:
    """Return a tensor's values, drawn now if ``initializer(…)`` has put that off."""
    return raw.init_data() if getattr(raw, "has_init", False) else raw


def is_initializer(value: Any) -> bool:
    """Return whether the value is an object of one of MindSpore's initializer classes."""
    return isinstance(value, Initializer)


def initial(kind: Any, shape: tuple[int, ...], dtype: Any) -> Raw:
    """Return what an initializer (an object, or its name) draws for a shape."""
    return initializer(kind, list(shape), dtype).init_data()
