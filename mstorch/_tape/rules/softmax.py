"""Gradients of softmax."""
from __future__ import annotations

from ..._backend.arrays import Array
from ..._backend.host.softmax import slope_in_rows
from ..._backend.onednn.rows import LOG_SOFTMAX, SOFTMAX
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand


def _axes(node: Applied) -> tuple[int, ...]:
    return (node.args[0],) if node.shapes[0] else ()


@rule("softmax", keep=("result",), symmetric=True)
def softmax(node: Applied, g: Operand) -> Operand:
    return _slope(g, node.kept(g), node)


@v.ways(array=lambda g, y, node: slope_in_rows(SOFTMAX, y, g, node.args[0]))
def _slope(g: Operand, y: Operand, node: Applied) -> Operand:
    return v.wide(lambda g, y: v.mul(y, v.sub(g, v.total(v.mul(g, y), _axes(node)))))(g, y)


@rule("log_softmax", keep=("result",))
def log_softmax(node: Applied, g: Array) -> Operand:
    return _log_slope(g, node.kept(g), node)


@v.ways(array=lambda g, y, node: slope_in_rows(LOG_SOFTMAX, y, g, node.args[0]))
def _log_slope(g: Array, y: Array, node: Applied) -> Operand:
    return v.wide(lambda g, y: v.sub(g, v.mul(v.exp(y), v.total(g, _axes(node)))))(g, y)
