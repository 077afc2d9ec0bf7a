"""Floating-point arithmetic without NumPy's warnings: IEEE's infinities and NaNs are results here, not errors."""
from __future__ import annotations

from typing import Any

import numpy as np

# NumPy 1's state of errors (buffer size, mask, callback), for `extobj=` of a ufunc's call too. `errstate` goes through Python for
# it and costs 2 µs, this 0.3.
QUIET: list[Any] = [8192, 0, None]


class quiet:
    """No floating-point warnings in a block."""

    __slots__ = ("before",)
    before: list[Any]

    def __enter__(self) -> None:
        self.before = np.geterrobj()
        np.seterrobj(QUIET)

    def __exit__(self, *error: object) -> None:
        np.seterrobj(self.before)


def narrowed(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """An array in a dtype of fewer bits; what is too large for it is infinite."""
    with quiet():
        return array.astype(kind)
