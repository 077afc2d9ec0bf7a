"""Bitwise operations of integers and bools; gcd and lcm."""
from __future__ import annotations

from typing import Any

from .._backend.table import Kernel, kernel
from .._core.dtype import dtype
from ._dispatch import binary, deliver, elementwise, result_dtype, type_word, unary

_and, _or, _xor, _not = (kernel(f"bitwise_{op}") for op in ("and", "or", "xor", "not"))
_left, _right, _gcd = kernel("bitwise_left_shift"), kernel("bitwise_right_shift"), kernel("gcd")


def _integral(name: str, kernel: Kernel, input: Any, other: Any, out: Any) -> Any:
    _check(name, result_dtype((input, other)))
    return binary(kernel, input, other, out)


def _check(name: str, kind: dtype) -> None:
    if kind.category >= 2:
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_word(kind)}'")


def bitwise_and(input: Any, other: Any, *, out: Any = None) -> Any:
    """The bits set in both; of bools, logical and."""
    return _integral("bitwise_and_cpu", _and, input, other, out)


def bitwise_or(input: Any, other: Any, *, out: Any = None) -> Any:
    """The bits set in either; of bools, logical or."""
    return _integral("bitwise_or_cpu", _or, input, other, out)


def bitwise_xor(input: Any, other: Any, *, out: Any = None) -> Any:
    """The bits set in exactly one; of bools, logical xor."""
    return _integral("bitwise_xor_cpu", _xor, input, other, out)


def bitwise_not(input: Any, *, out: Any = None) -> Any:
    """All bits turned; of a bool, its negation."""
    _check("bitwise_not_cpu", input._dtype)
    return unary(_not, input, out)


def bitwise_left_shift(input: Any, other: Any, *, out: Any = None) -> Any:
    """``input`` shifted left by ``other`` bits."""
    kind = result_dtype((input, other))
    if kind.category >= 2:
        return _scaled_by_two(input, other, 1, out)
    return elementwise(_left, (input, other), out)


def bitwise_right_shift(input: Any, other: Any, *, out: Any = None) -> Any:
    """``input`` shifted right by ``other`` bits, keeping the sign."""
    kind = result_dtype((input, other))
    if kind.category >= 2:
        return _scaled_by_two(input, other, -1, out)
    return elementwise(_right, (input, other), out)


def _scaled_by_two(input: Any, other: Any, direction: int, out: Any) -> Any:
    _check("lshift_cpu" if direction > 0 else "rshift_cpu", result_dtype((input, other)))


def gcd(input: Any, other: Any, *, out: Any = None) -> Any:
    """The greatest common divisor, not negative."""
    _check("gcd_cpu", result_dtype((input, other)))
    return binary(_gcd, input, other, out)


def lcm(input: Any, other: Any, *, out: Any = None) -> Any:
    """The least common multiple, not negative."""
    from .compare import eq, where
    from .elementwise import abs, div, mul

    _check("lcm_cpu", result_dtype((input, other)))
    divisor = gcd(input, other)
    nothing = eq(divisor, 0)
    quotient = div(input, where(nothing, 1, divisor), rounding_mode="trunc")
    result = abs(mul(quotient, other))
    return result if out is None else deliver(result, out)


FUNCTIONS = tuple(
    "bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift gcd lcm".split()
)
METHODS = FUNCTIONS
IN_PLACE = FUNCTIONS
OPERATORS = {
    "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor, "lshift": bitwise_left_shift, "rshift": bitwise_right_shift,
}  # fmt: skip
REFLECTED = OPERATORS
IN_PLACE_OPERATORS = OPERATORS
UNARY_OPERATORS = {"invert": bitwise_not}
