"""The functions of arrays that a formula may call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]


class Namespace(Protocol):
    """Functions of arrays of one floating-point dtype. Names with a number take a Python number second, rounded to the array's dtype."""

    add: Binary
    sub: Binary
    mul: Binary
    div: Binary
    neg: Unary
    abs_: Unary
    exp: Unary
    log: Unary
    log1p: Unary
    tanh: Unary
    sigmoid: Unary
    erf: Unary

    # With a number.
    times: Callable[[Any, float], Any]
    over: Callable[[Any, float], Any]
    """``x / number``."""
    plus: Callable[[Any, float], Any]
    above: Callable[[Any, float], Any]
    """``x > number``; False for NaN."""
    less_than: Callable[[Any, float], Any]
    at_most: Callable[[Any, float], Any]
    at_least: Callable[[Any, float], Any]

    both: Binary
    either: Binary
    where: Callable[[Any, Any, Any], Any]
    """Either of the two values may be a number."""
    settled: Callable[[Any, Any, float], Any]
    """``settled(x, condition, number)``: the number in place of ``x`` where the condition holds and the result will not be used. Only what
    is differentiated again needs it: there, NaN times 0 is NaN."""


class OfValues(Namespace, Protocol):
    """What the formulas of values need besides: no derivative does."""

    expm1: Unary
    maximum: Callable[[Any, float], Any]
    """The larger of ``x`` and a number; NaN remains."""
    minimum: Callable[[Any, float], Any]
