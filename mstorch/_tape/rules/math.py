"""Gradients of exponentials, logarithms and trigonometry."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import vocabulary as v
from ..apply import rule

# By the result where that is cheaper, as torch does; else by the argument.
OF_RESULT: dict[str, Callable[[Any], Any]] = {
    "exp": lambda y: y,
    "expm1": lambda y: v.plus(y, 1),
    "tan": lambda y: v.plus(v.mul(y, y), 1),
    "tanh": lambda y: v.plus(v.neg(v.mul(y, y)), 1),
    "sigmoid": lambda y: v.mul(y, v.plus(v.neg(y), 1)),
}
OF_ARGUMENT: dict[str, Callable[[Any], Any]] = {
    "log": v.reciprocal,
    "log1p": lambda x: v.reciprocal(v.plus(x, 1)),
    "log2": lambda x: v.reciprocal(v.times(x, math.log(2))),
    "log10": lambda x: v.reciprocal(v.times(x, math.log(10))),
    "erf": lambda x: v.times(v.exp(v.neg(v.mul(x, x))), 2 / math.sqrt(math.pi)),
    "sin": v.cos,
    "cos": lambda x: v.neg(v.sin(x)),
    "sinh": v.cosh,
    "cosh": v.sinh,
}


def _enter(op: str, keep: Any, derivative: Callable[[Any], Any]) -> None:
    @rule(op, keep=(keep,))
    def chained(node: Any, g: Any) -> Any:
        return v.mul(g, v.conj(derivative(node.kept(g))))


for _op, _derivative in OF_RESULT.items():
    _enter(_op, "result", _derivative)
for _op, _derivative in OF_ARGUMENT.items():
    _enter(_op, 0, _derivative)


def _flat(op: str) -> None:
    @rule(op)
    def zero(node: Any, g: Any) -> Any:
        return v.times(g, 0)


for _op in ("floor", "ceil", "trunc", "round", "sign"):
    _flat(_op)
