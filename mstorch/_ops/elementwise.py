"""Elementwise arithmetic."""
from __future__ import annotations

from typing import Any

from .._backend.table import kernel
from ._dispatch import binary

_add = kernel("add")
_sub = kernel("sub")
_mul = kernel("mul")


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:  # noqa: A002
    """``input + alpha * other``, elementwise."""
    if alpha != 1:
        other = mul(other, alpha)
    return binary(_add, input, other, out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:  # noqa: A002
    """``input - alpha * other``, elementwise."""
    if alpha != 1:
        other = mul(other, alpha)
    return binary(_sub, input, other, out)


def mul(input: Any, other: Any, *, out: Any = None) -> Any:  # noqa: A002
    """``input * other``, elementwise."""
    return binary(_mul, input, other, out)


FUNCTIONS = ("add", "sub", "mul")
METHODS = ("add", "sub", "mul")
IN_PLACE = ("add", "sub", "mul")
OPERATORS = {"add": add, "sub": sub, "mul": mul}
REFLECTED = {"add": add, "sub": sub, "mul": mul}
IN_PLACE_OPERATORS = {"add": add, "sub": sub, "mul": mul}
