"""Gradients of functions of one argument that are formulas."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...backend.formulas.elementwise import SLOPES, Slope
from .. import vocabulary as v
from ..operands import Operand
from ..primitives import Primitive, dtype_name
from ._chained import chained

_erfinv = Primitive("erfinv")


def _in_one_kernel(op: str, slope: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the gradient of tanh or sigmoid, which devices compute by one kernel and torch's rounds once; but in float16, torch rounds
    each step of sigmoid's."""
    wide = v.wide(slope)

    def rounded(g: Operand, y: Operand) -> Operand:
        return (slope if op == "sigmoid" and dtype_name(g) == "float16" else wide)(g, y)

    return v.in_one_kernel(f"{op}_grad", rounded)


def _register(op: str, formula: Slope) -> None:
    slope: Callable[[Any, Any], Any] = partial(formula.gradient, v)
    if op == "erfinv":  # the formula is of the result, but torch saves the argument
        chained(op, 0, lambda g, x: slope(g, _erfinv(x)), formula.node)
        return
    if op in ("tanh", "sigmoid"):
        slope = _in_one_kernel(op, slope)
    chained(op, "result" if formula.of_result else 0, slope, formula.node)


for _op, _formula in SLOPES.items():
    _register(_op, _formula)
