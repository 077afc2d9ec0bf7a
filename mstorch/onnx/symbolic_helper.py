"""torch.onnx.symbolic_helper: the decorator of functions that write ONNX. Nothing here calls such functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that leaves the function as it is, with the kinds of its arguments in ``_arg_descriptors``."""

    def decorator(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return fn

    return decorator


__all__ = ["parse_args"]
