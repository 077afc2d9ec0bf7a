"""torch.onnx.symbolic_helper: the decorator of symbolic functions, which mstorch never calls."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that stores the argument descriptors in ``_arg_descriptors`` and returns the function."""

    def decorator(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return fn

    return decorator


__all__ = ["parse_args"]
