"""Bitwise operations on integers and bools; gcd and lcm."""

from __future__ import annotations

from typing import Any

from ...backend.errors import not_for
from ...backend.table import Kernel, kernel
from ...core.dtype import dtype, int32
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase
from .._dispatch import (
    FOUND,
    binary,
    deliver,
    elementwise,
    expect_a_tensor,
    expect_out_dtype,
    expect_tensors,
    refuse_dtype,
    result_dtype,
    unary,
)
from .._forms import SELF
from .._operation import operation
from .._overlaps import refuse_partly
from ..memory.copying import to_dtype
from .compare import eq, where
from .elementwise import abs, div, mul

_and, _or, _xor, _not = (kernel(f"bitwise_{op}") for op in ("and", "or", "xor", "not"))
_left, _right, _gcd = kernel("bitwise_left_shift"), kernel("bitwise_right_shift"), kernel("gcd")


def _integral(name: str, kernel: Kernel, input: TensorBase, other: Any, out: TensorBase | None) -> TensorBase:
    _check(name, result_dtype((input, other)))
    return binary(kernel, input, other, out)


def _check(name: str, kind: dtype, below: int = 0, operands: tuple[Any, ...] = ()) -> None:
    if not kind.is_integral:
        raise not_for(name, kind.name)
    refuse_dtype(name, kind, below, operands)


@operation(forms=SELF)
def bitwise_and(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the bits set in both; of bools, logical and."""
    expect_a_tensor("bitwise_and", input, other)
    return _integral("bitwise_and_cpu", _and, input, other, out)


@operation(forms=SELF)
def bitwise_or(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the bits set in either; of bools, logical or."""
    expect_a_tensor("bitwise_or", input, other)
    return _integral("bitwise_or_cpu", _or, input, other, out)


@operation(forms=SELF)
def bitwise_xor(input: TensorBase, other: TensorBase | int, *, out: TensorBase | None = None) -> TensorBase:
    """Return the bits set in exactly one; of bools, logical xor."""
    expect_a_tensor("bitwise_xor", input, other)
    return _integral("bitwise_xor_cpu", _xor, input, other, out)


def bitwise_not(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the bitwise complement; for bool, the logical negation."""
    _check("bitwise_not_cpu", input._ms_dtype)
    if out is not None:
        expect_out_dtype(out, input._ms_dtype, FOUND)
    return unary(_not, input, out)


@operation(forms=SELF)
def bitwise_left_shift(input: TensorBase | int, other: TensorBase | int, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input`` shifted left by ``other`` bits."""
    expect_a_tensor("bitwise_left_shift", input, other)
    kind = result_dtype((input, other))
    _check("lshift_cpu", kind, 1, (input, other))
    return elementwise(_left, (input, other), out)


@operation(forms=SELF)
def bitwise_right_shift(input: TensorBase, other: TensorBase | int, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input`` shifted right by ``other`` bits, keeping the sign."""
    expect_a_tensor("bitwise_right_shift", input, other)
    kind = result_dtype((input, other))
    _check("rshift_cpu", kind, 1, (input, other))
    return elementwise(_right, (input, other), out)


def invert(self: TensorBase) -> TensorBase:
    """Return ``~self``."""
    if not self._ms_dtype.is_integral:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


@operation(one_device=OneDevice())
def gcd(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the greatest common divisor, nonnegative."""
    expect_tensors("gcd", input, other)
    _check("gcd_cpu", result_dtype((input, other)), 1, (input, other))
    return binary(_gcd, input, other, out)


@operation(one_device=OneDevice())
def lcm(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the least common multiple, nonnegative."""
    expect_tensors("lcm", input, other)
    _check("lcm_cpu", result_dtype((input, other)), 1, (input, other))
    kind = result_dtype((input, other))
    refuse_partly(out, input, other)
    if kind.itemsize < 4:
        # C computes small integers as int and truncates the result.
        input, other = to_dtype(input, int32), to_dtype(other, int32)
    divisor = gcd(input, other)
    nothing = eq(divisor, 0)
    quotient = div(input, where(nothing, 1, divisor), rounding_mode="trunc")
    result = to_dtype(abs(mul(quotient, other)), kind)
    return result if out is None else deliver(result, out)


OPERATORS = {
    "and": bitwise_and,
    "or": bitwise_or,
    "xor": bitwise_xor,
    "lshift": bitwise_left_shift,
    "rshift": bitwise_right_shift,
}
REFLECTED = OPERATORS
IN_PLACE_OPERATORS = OPERATORS
UNARY_OPERATORS = {"invert": invert}
