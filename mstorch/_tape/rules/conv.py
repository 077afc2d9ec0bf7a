"""Gradients of convolutions. Forward, gradient of the input and gradient of the weight are three bilinear functions, and the gradients of
each of them are computed by the other two."""
from __future__ import annotations

from typing import Any

from ..._backend.arrays import Array
from ..._backend.raw import Raw
from ..._backend.table import serves
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive

_both = Primitive("conv2d_both")
_forward, _input, _weight = Primitive("conv2d"), Primitive("conv2d_input"), Primitive("conv2d_weight")


def _output(
    g: Operand, w: Operand, shape: tuple[int, ...], attributes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int],
) -> Any:
    """Convolve ``g`` with ``w``, as the gradient of a transposed convolution; drop the trailing outputs beyond ``shape``, which an output
    padding larger than the stride causes."""
    found = _forward(g, w, None, *attributes)
    if v.shape_of(found) == shape:
        return found
    return v.part_of(found, (slice(None), slice(None), *(slice(0, length) for length in shape[2:])))


@rule("conv2d", keep=(0, 1), watch=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv2d(node: Applied, g: Array) -> tuple[Any, ...]:
    attributes = node.args[-4:]
    bias = node.edges[2] if len(node.edges) > 2 else None
    by_bias = None if bias is None else v.total(g, (0, *range(2, len(g.shape))), False)
    return *_by_operands(g, node, attributes), by_bias


def _by_one_kernel(g: Raw, node: Applied, attributes: tuple[int | tuple[int], ...]) -> Any:
    if None in node.edges[:2] or not serves("conv2d_both", node.kind.name):
        return None
    return _both(g, node.kept(g, 0), node.kept(g, 1), *attributes)


@v.ways(raw=_by_one_kernel)
def _by_operands(g: Array, node: Applied, attributes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]) -> tuple[Any, ...]:
    """Return the gradients of the input and the weight."""
    x, w = node.edges[:2]
    return (
        None if x is None else _input(g, node.kept(g, 1), node.shapes[0], *attributes),
        None if w is None else _weight(g, node.kept(g, 0), node.shapes[1], *attributes),
    )


@rule("conv2d_input", keep=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv2d_input(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    attributes = node.args[1:]
    first, w = node.edges
    return (
        None if first is None else _output(g, node.kept(g, 1), node.shapes[0], attributes),
        None if w is None else _weight(node.kept(g, 0), g, node.shapes[1], *attributes),
    )


@rule("conv2d_weight", keep=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv2d_weight(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    attributes = node.args[1:]
    first, x = node.edges
    return (
        None if first is None else _output(node.kept(g, 1), g, node.shapes[0], attributes),
        None if x is None else _input(node.kept(g, 0), g, node.shapes[1], *attributes),
    )


@rule("conv_transpose2d", keep=(0, 1), watch=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv_transpose2d(node: Applied, g: Array) -> tuple[Array | None, ...]:
    x, w = node.edges[:2]
    stride, padding, _, dilation, groups = node.args[-5:]
    attributes = (stride, padding, dilation, groups)
    bias = node.edges[2] if len(node.edges) > 2 else None
    return (
        None if x is None else _output(g, node.kept(g, 1), node.shapes[0], attributes),
        None if w is None else _weight(node.kept(g, 0), g, node.shapes[1], *attributes),
        None if bias is None else v.total(g, (0, *range(2, len(g.shape))), False),
    )
