"""Gradients of linear resampling along an axis, and of unfolding."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.constants import turned
from ...backend.host.resample import numpy_pick_along
from ...backend.table import kernel
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive

_along, _turned = kernel("along"), Primitive("along")
_upsample, _upsample_grad = Primitive("upsample"), Primitive("upsample_grad")
_fold, _unfold = Primitive("col2im"), Primitive("im2col")


@rule("along", label="UpsampleBackward0", tables=True)
@v.by_gradient(native=lambda node, g: _turned(g, turned(node.args[0]), None, node.args[2]))
def along(node: Applied, g: Array) -> Operand:
    matrix, taps, axis = node.args
    back, terms = turned(matrix), None if taps is None else taps[[1, 0, 2]]
    run = _along.host[node.kind.name]
    return v.mapped(g, lambda array: run(array, back, terms, axis), lambda array: run(array, matrix, taps, axis), "UpsampleBackward0")


@rule("pick_along", label="UpsampleNearestBackward0", tables=True)
@v.by_gradient(native=lambda node, g: v.rows_added(g, node.shapes[0], node.args[1], node.args[0]))
def pick_along(node: Applied, g: Operand) -> Operand:
    positions, axis = node.args
    shape = node.shapes[0]

    def gathered(array: Array) -> Array:
        found = np.zeros((shape[axis], *shape[:axis], *shape[axis + 1 :]), array.dtype)
        np.add.at(found, positions, np.moveaxis(array, axis, 0))
        return np.ascontiguousarray(np.moveaxis(found, 0, axis))

    return v.mapped(g, gathered, lambda array: numpy_pick_along(array, positions, axis), "UpsampleNearestBackward0")


@rule("upsample", label="UpsampleBackward0")
def upsample(node: Any, g: Any) -> Any:
    return _upsample_grad(g, node.shapes[0][2:], *node.args)


@rule("upsample_grad", label="UpsampleBackwardBackward0")
def upsample_grad(node: Any, g: Any) -> Any:
    return _upsample(g, *node.args[1:])


@rule("im2col", label="Im2ColBackward0")
def im2col(node: Applied, g: Operand) -> Any:
    kernel, dilation, padding, stride, out = node.args
    return _fold(g, node.shapes[0][2:], kernel, dilation, padding, stride, out)


@rule("col2im", label="Col2ImBackward0")
def col2im(node: Applied, g: Array) -> Array:
    sizes, kernel, dilation, padding, stride, blocks = node.args
    return _unfold(g, kernel, dilation, padding, stride, blocks)
