"""``torch._compile``: the decorator by which PyTorch's own modules keep a function out of graphs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compiler import disable

__path__: list[str] = []  # a module that had a name below this one is found by ``_src/former_names.py``


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Callable[..., Any]:
    """Return a function that ``torch.compile`` does not capture; without a function, the decorator that does this."""
    if fn is None:
        return lambda function: disable(function, recursive=recursive)
    return disable(fn, recursive=recursive)
