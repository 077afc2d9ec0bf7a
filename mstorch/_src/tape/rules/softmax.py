"""Gradients of softmax. A device's own kernels for them crashed on a 910B: its gradients are three kernels."""
from __future__ import annotations

from ...backend.arrays import Array
from ...backend.host.softmax import slope_in_rows
from ...backend.onednn.rows import LOG_SOFTMAX, SOFTMAX
from ...backend.raw import Raw
from ...backend.table import serves
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand


def _axes(node: Applied) -> tuple[int, ...]:
    return (node.args[0],) if node.shapes[0] else ()


@rule("softmax", keep=("result",), symmetric=True)
def softmax(node: Applied, g: Operand) -> Operand:
    return _slope(g, node.kept(g), node)


def _of_device(g: Raw, y: Raw, node: Applied) -> Operand | None:
    if not serves("add_product", v.dtype_name(y)):
        return None
    product = v.mul(g, y)
    return v.add_product(product, y, v.total(product, _axes(node)), -1.0)


@v.ways(array=lambda g, y, node: slope_in_rows(SOFTMAX, y, g, node.args[0]), raw=_of_device)
def _slope(g: Operand, y: Operand, node: Applied) -> Operand:
    return v.wide(lambda g, y: v.mul(y, v.sub(g, v.total(v.mul(g, y), _axes(node)))))(g, y)


@rule("log_softmax", keep=("result",))
def log_softmax(node: Applied, g: Array) -> Operand:
    return _log_slope(g, node.kept(g), node)


def _log_of_device(g: Raw, y: Raw, node: Applied) -> Operand | None:
    if not serves("add_product", v.dtype_name(y)):
        return None
    return v.add_product(g, v.exp(y), v.total(g, _axes(node)), -1.0)


@v.ways(array=lambda g, y, node: slope_in_rows(LOG_SOFTMAX, y, g, node.args[0]), raw=_log_of_device)
def _log_slope(g: Array, y: Array, node: Applied) -> Operand:
    return v.wide(lambda g, y: v.sub(g, v.mul(v.exp(y), v.total(g, _axes(node)))))(g, y)
