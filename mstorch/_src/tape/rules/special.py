"""Gradients of special functions: error, gamma and Bessel functions."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...core.dtype import finfo
from ...core.tensor_base import TensorBase
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive

_erfcx, _digamma, _polygamma, _lgamma, _zeta = (Primitive(op) for op in ("erfcx", "digamma", "polygamma", "lgamma", "zeta"))
_i0, _i0e, _i1, _i1e = (Primitive(op) for op in ("i0", "i0e", "i1", "i1e"))

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)


def _log_density(x: Operand, y: Operand) -> Operand:
    """Return the derivative of ``log_ndtr``; NaN where the logarithm is -inf."""
    scaled = _erfcx(v.times(x, -math.sqrt(0.5)))
    if isinstance(x, TensorBase):  # where the slope is 0, so is its derivative, which would be NaN
        x = v.where(v.above(scaled, math.sqrt(float(finfo(x._ms_dtype).max))), v.fixed(x), x)
        scaled = _erfcx(v.times(x, -math.sqrt(0.5)))
    slope = v.times(v.reciprocal(scaled), math.sqrt(2 / math.pi))
    return v.where(v.at_most(y, -math.inf), math.nan, slope)


def _of_first_order(slope: Callable[[Any], Any], x: Operand) -> Operand:
    """Return ``slope(x)``, which divides by x; where x is NaN or within the dtype's eps of 0, return 0.5, the limit at 0."""
    array = v.host_array(x)
    small = ~(np.abs(array) > np.finfo(array.dtype).eps)
    return v.where(small, 0.5, slope(v.where(small, 1, x)))


def _signed(x: Operand, value: Operand) -> Operand:
    return v.mul(v.like(v.signs(x), value), value)


_KEEP_RESULT = ("erfcx", "log_ndtr", "i0e", "i1", "i1e")
# The slope as a function of the argument and the result (None if it is not saved), and torch's name of the node.
_SLOPES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "erfcx": ("SpecialErfcxBackward0", lambda x, y: v.plus(v.times(v.mul(x, y), 2), -_TWO_BY_ROOT_PI)),
    "log_ndtr": (
        "SpecialLogNdtrBackward0", lambda x, y: _log_density(x, y),
    ),
    "lgamma": ("LgammaBackward0", lambda x, y: _digamma(x)),
    "digamma": ("DigammaBackward0", lambda x, y: _polygamma(x, 1)),
    "i0": ("I0Backward0", lambda x, y: _i1(x)),
    "i0e": ("SpecialI0EBackward0", lambda x, y: v.sub(_i1e(x), _signed(x, y))),
    "i1": ("SpecialI1Backward0", lambda x, y: _of_first_order(lambda x: v.sub(_i0(x), v.div(y, x)), x)),
    "i1e": ("SpecialI1EBackward0", lambda x, y: _of_first_order(lambda x: v.sub(v.sub(_i0e(x), _signed(x, y)), v.div(y, x)), x)),
}  # fmt: skip


def _enter(op: str, label: str, slope: Callable[[Any, Any], Any]) -> None:
    kept = op in _KEEP_RESULT

    @rule(op, keep=(0, "result") if kept else (0,), label=label, symmetric=True)
    def backward(node: Applied, g: Operand) -> Operand:
        return v.mul(g, slope(node.kept(g, 0), node.kept(g, 1) if kept else None))


for _op, (_label, _slope) in _SLOPES.items():
    _enter(_op, _label, _slope)

@rule("polygamma", keep=(0,))
def polygamma(node: Applied, g: Operand) -> Operand:
    order = node.args[0] + 1
    return v.wide(lambda g, x: v.mul(g, _polygamma(x, order)))(g, node.kept(g))


def _without(node: Applied, words: str) -> None:
    if node.edges[0] is not None:
        raise NotImplementedError(f"the derivative for '{words}' is not implemented.")


def _incomplete(op: str, label: str, sign: int) -> None:
    def slope(g: Array, a: Array, x: Array) -> Array:
        density = v.exp(v.sub(v.mul(v.plus(a, -1), v.log(x)), v.add(x, _lgamma(a))))
        return v.times(v.mul(g, density), sign)

    whole = v.wide(slope)

    @rule(op, keep=(0, 1), label=label)
    def incomplete(node: Applied, g: Array) -> tuple[Any, Array]:
        _without(node, "igamma: input" if sign > 0 else "igammac: input")
        return None, v.fit(whole(g, node.kept(g, 0), node.kept(g, 1)), node.shapes[1])


_incomplete("gammainc", "IgammaBackward0", 1)
_incomplete("gammaincc", "IgammacBackward0", -1)


@rule("zeta", keep=(0, 1), label="SpecialZetaBackward0")
def zeta(node: Applied, g: Array) -> tuple[Any, Array]:
    _without(node, "zeta")
    slope = v.wide(lambda g, s, q: v.neg(v.mul(g, v.mul(s, _zeta(v.plus(s, 1), q)))))
    return None, v.fit(slope(g, node.kept(g, 0), node.kept(g, 1)), node.shapes[1])
