"""torch._VF: torch's functions under their internal names, and a few others."""
from __future__ import annotations

import sys
from typing import Any

from ._src.ops.reduce.count import unique, unique_consecutive


def unique_dim(input: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Any, ...]:
    """Return the unique entries along a dimension, inverse indices and counts; empty tensors for outputs that are not requested."""
    return _three(input, unique(input, sorted, return_inverse, return_counts, dim), return_inverse, return_counts)


def _unique2(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Any, ...]:
    """Return the unique elements, inverse indices and counts."""
    return _three(input, unique(input, sorted, return_inverse, return_counts), return_inverse, return_counts)


def _unique(input: Any, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, ...]:
    """Return the unique elements and inverse indices."""
    return _unique2(input, sorted, return_inverse)[:2]


def _three(input: Any, found: Any, inverse: bool, counts: bool) -> tuple[Any, ...]:
    parts = iter(found if isinstance(found, tuple) else (found,))
    package = sys.modules[__package__ or "mstorch"]

    def part(wanted: bool) -> Any:
        return next(parts) if wanted else package.empty(0, dtype=package.int64)

    return part(True), part(inverse), part(counts)


def __getattr__(name: str) -> Any:
    """Return the function of the torch namespace with that name."""
    found = vars(sys.modules[__package__ or "mstorch"]).get(name)
    if not callable(found):
        raise AttributeError(f"module 'torch._VF' has no attribute '{name}'")
    return found


__all__ = ["unique_consecutive", "unique_dim"]
