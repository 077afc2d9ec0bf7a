"""Values of MindSpore's initializers, drawn from NumPy's global generator."""
from __future__ import annotations

from typing import Any

from mindspore.common.initializer import initializer

from .raw import Raw


def drawn(raw: Raw) -> Raw:
    """Return a tensor with its values, drawn now if ``initializer(…)`` has deferred them."""
    return raw.init_data() if getattr(raw, "has_init", False) else raw


def initial(kind: Any, shape: tuple[int, ...], dtype: Any) -> Raw:
    """Return values of a shape from an initializer, given as an object or by name."""
    return initializer(kind, list(shape), dtype).init_data()
