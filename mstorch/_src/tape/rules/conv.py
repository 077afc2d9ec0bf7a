"""Gradients of convolutions. Forward, gradient of the input and gradient of the weight are three bilinear functions, and the gradients of
each of them are computed by the other two."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Array
from ...backend.raw import Raw
from ...backend.table import serves
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive

_all = Primitive("conv_grad")
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


def _by_one_kernel(node: Applied, g: Raw, attributes: tuple[Any, ...]) -> Any:
    """Return the gradients of the operands that require one; an operand that was not saved, as only its shape counts, is zeros."""
    wanted = tuple(int(edge is not None) for edge in (*node.edges, None)[:3])
    if not serves("conv_grad", node.kind.name) or not any(wanted[:2]):
        return None
    x, w = (v.zeros_beside(node.shapes[i], g) if node.saved[i] is None else node.kept(g, i) for i in range(2))
    found = _all(g, x, w, *attributes, wanted)
    return tuple(gradient if used else None for gradient, used in zip(found, wanted))


@rule("conv2d", keep=(0, 1), watch=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
@v.by_gradient(raw=lambda node, g: _by_one_kernel(node, g, (*node.args[-4:-1], False, (0,) * len(node.args[-4]), node.args[-1])))
def conv2d(node: Applied, g: Array) -> tuple[Any, ...]:
    attributes = node.args[-4:]
    x, w, bias = (*node.edges, None)[:3]
    return (
        None if x is None else _input(g, node.kept(g, 1), node.shapes[0], *attributes),
        None if w is None else _weight(g, node.kept(g, 0), node.shapes[1], *attributes),
        None if bias is None else v.total(g, (0, *range(2, len(g.shape))), False),
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


def _of_transposed(stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int) -> tuple[Any, ...]:
    return stride, padding, dilation, True, output_padding, groups


@rule("conv_transpose2d", keep=(0, 1), watch=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
@v.by_gradient(raw=lambda node, g: _by_one_kernel(node, g, _of_transposed(*node.args[-5:])))
def conv_transpose2d(node: Applied, g: Array) -> tuple[Array | None, ...]:
    x, w, bias = (*node.edges, None)[:3]
    stride, padding, _, dilation, groups = node.args[-5:]
    attributes = (stride, padding, dilation, groups)
    return (
        None if x is None else _output(g, node.kept(g, 1), node.shapes[0], attributes),
        None if w is None else _weight(node.kept(g, 0), g, node.shapes[1], *attributes),
        None if bias is None else v.total(g, (0, *range(2, len(g.shape))), False),
    )
