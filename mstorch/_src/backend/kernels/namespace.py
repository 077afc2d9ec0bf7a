"""Functions of MindSpore's tensors for formulas (``formulas/namespace.py``), also in the graphs that MindSpore compiles."""
from __future__ import annotations

from typing import Any

from mindspore import ops

from ..raw import Raw
from ._nodes import constant
from .math import exp as exp
from .math import expm1 as expm1
from .math import log as log
from .math import log1p as log1p
from .math import sigmoid as sigmoid
from .math import tanh as tanh

add, sub, mul, div = ops.Add(), ops.Sub(), ops.Mul(), ops.RealDiv()
neg, abs_, erf = ops.Neg(), ops.Abs(), ops.Erf()
both, either = ops.LogicalAnd(), ops.LogicalOr()
_maximum, _minimum, _select = ops.Maximum(), ops.Minimum(), ops.Select()
_greater, _greater_equal, _less, _less_equal = ops.Greater(), ops.GreaterEqual(), ops.Less(), ops.LessEqual()


def times(x: Raw, value: float) -> Raw:
    """Return the product with a number."""
    return mul(x, constant(value, x))


def over(x: Raw, value: float) -> Raw:
    """Return the quotient by a number."""
    return div(x, constant(value, x))


def plus(x: Raw, value: float) -> Raw:
    """Return the sum with a number."""
    return add(x, constant(value, x))


def maximum(x: Raw, value: float) -> Raw:
    """Return the larger of x and a number; NaN remains, which it does not with the operands the other way round (2.7.2 to 2.10)."""
    return _maximum(constant(value, x), x)


def minimum(x: Raw, value: float) -> Raw:
    """Return the smaller of x and a number; NaN remains."""
    return _minimum(constant(value, x), x)


def above(x: Raw, value: float) -> Raw:
    """Return where x is greater than a number."""
    return _greater(x, constant(value, x))


def less_than(x: Raw, value: float) -> Raw:
    """Return where x is less than a number."""
    return _less(x, constant(value, x))


def at_most(x: Raw, value: float) -> Raw:
    """Return where x is at most a number."""
    return _less_equal(x, constant(value, x))


def at_least(x: Raw, value: float) -> Raw:
    """Return where x is at least a number."""
    return _greater_equal(x, constant(value, x))


def where(condition: Raw, x: Any, y: Any) -> Raw:
    """Select from ``x`` where the condition holds, else from ``y``; either may be a number."""
    if not isinstance(x, Raw):
        x = constant(x, y)
    elif not isinstance(y, Raw):
        y = constant(y, x)
    return _select(condition, x, y)


def settled(x: Raw, condition: Raw, value: float) -> Raw:
    """Return the number in place of x where the condition holds, because MindSpore may differentiate again."""
    return where(condition, value, x)
