"""Functions of MindSpore's tensors for formulas (``formulas/namespace.py``), also in the graphs that MindSpore compiles.

MindSpore's float32 Exp, Log, Tanh and Sigmoid are approximations (2.10 on CPU: relative error 2e-5 for Exp(88), 1e-4 for Tanh near 8), and
its Expm1 and Log1p are ``exp(x) - 1`` and ``log(1 + x)``, without a correct digit near 0: NumPy computes these, except in graphs.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from ..arrays import Array
from ..formulas.elementwise import SLOPES
from ..raw import Raw
from ._nodes import (
    FLOAT32,
    constant,
    is_complex,
    node,
    prim_add,
    prim_and,
    prim_conj,
    prim_equal,
    prim_less,
    prim_neg,
    prim_or,
    prim_select,
    prim_sub,
    through_numpy,
)
from ._nodes import mul as mul
from .elementwise import composed_abs, composed_div, composed_scalar_power, ops_rsqrt

Function = Callable[[Raw], Raw]

add, sub, div, neg = prim_add, prim_sub, composed_div, prim_neg
abs_, rsqrt, scalar_power = composed_abs, ops_rsqrt, composed_scalar_power
both, either = prim_and, prim_or
_maximum, _minimum = ops.Maximum(), ops.Minimum()
_exp, _log, _tanh, _sigmoid, _expm1, _log1p = ops.Exp(), ops.Log(), ops.Tanh(), ops.Sigmoid(), ops.Expm1(), ops.Log1p()


def by_formula(op: str, forward: Callable[..., Raw], traced: Callable[..., Raw] | None = None) -> Function:
    """Return a function of one tensor, ``forward``, with the gradient of its formula; ``traced`` is captured in graphs."""
    name, of_result, gradient = SLOPES[op]
    own = sys.modules[__name__]  # the functions below are the namespace

    def backward(g: Raw, result: Raw, x: Raw) -> Raw:
        return gradient(own, g, result if of_result else x)

    return node(name, forward, backward, traced or forward)


def _in_float32(primitive: Function, function: Callable[..., Any]) -> Function:
    """Return a kernel that uses NumPy's function for float32, and the primitive for other dtypes."""
    exact = through_numpy(function)

    def forward(raw: Raw) -> Raw:
        return exact(raw) if raw.dtype == FLOAT32 else primitive(raw)

    return forward


def _logistic(values: Array) -> Array:
    small = np.exp(-np.abs(values))
    one = np.ones((), values.dtype)
    return np.where(values >= 0, one, small).astype(values.dtype) / np.add(one, small)


exp = by_formula("exp", _in_float32(_exp, np.exp), _exp)
log = by_formula("log", _in_float32(_log, np.log), _log)
tanh = by_formula("tanh", _in_float32(_tanh, np.tanh), _tanh)
sigmoid = by_formula("sigmoid", _in_float32(_sigmoid, _logistic), _sigmoid)
expm1 = by_formula("expm1", through_numpy(np.expm1), _expm1)
log1p = by_formula("log1p", through_numpy(np.log1p), _log1p)
sin, cos = (by_formula(op, primitive) for op, primitive in (("sin", ops.Sin()), ("cos", ops.Cos())))
sinh, cosh = (by_formula(op, primitive) for op, primitive in (("sinh", ops.Sinh()), ("cosh", ops.Cosh())))
erf = by_formula("erf", ops.Erf())


def conj(raw: Raw) -> Raw:
    """Return the conjugate; a real tensor stays."""
    return prim_conj(raw) if is_complex(raw) else raw


def is_zero(raw: Raw) -> Raw:
    """Return where a tensor is 0."""
    return prim_equal(raw, constant(0, raw))


def _with_number(function: Callable[[Raw, Raw], Raw]) -> Callable[[Raw, float], Raw]:
    """Return a function of a tensor and a number, which is a constant of the tensor's dtype."""
    return lambda x, value: function(x, constant(value, x))


times, over, plus = _with_number(mul), _with_number(div), _with_number(add)
above, less_than = _with_number(ops.Greater()), _with_number(prim_less)
at_most, at_least = _with_number(ops.LessEqual()), _with_number(ops.GreaterEqual())


def maximum(x: Raw, value: float) -> Raw:
    """Return the larger of x and a number; NaN remains, which it does not with the operands the other way round (2.7.2 to 2.10)."""
    return _maximum(constant(value, x), x)


def minimum(x: Raw, value: float) -> Raw:
    """Return the smaller of x and a number; NaN remains."""
    return _minimum(constant(value, x), x)


def where(condition: Raw, x: Any, y: Any) -> Raw:
    """Select from ``x`` where the condition holds, else from ``y``; either may be a number."""
    if not isinstance(x, Raw):
        x = constant(x, y)
    elif not isinstance(y, Raw):
        y = constant(y, x)
    return prim_select(condition, x, y)


def settled(x: Raw, condition: Raw, value: float) -> Raw:
    """Return the number in place of x where the condition holds, because MindSpore may differentiate again."""
    return where(condition, value, x)
