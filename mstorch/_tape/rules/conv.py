"""Gradients of convolutions: three maps, linear in both arguments, each the gradient of another."""
from __future__ import annotations

from typing import Any

from .. import vocabulary as v
from ..apply import rule
from ..primitives import Primitive

_forward, _input, _weight = Primitive("conv2d"), Primitive("conv2d_input"), Primitive("conv2d_weight")


@rule("conv2d", keep=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv2d(node: Any, g: Any) -> Any:
    x, w = node.edges[:2]
    attributes = node.args[-4:]
    bias = node.edges[2] if len(node.edges) > 2 else None
    return (
        None if x is None else _input(g, node.kept(g, 1), node.shapes[0], *attributes),
        None if w is None else _weight(g, node.kept(g, 0), node.shapes[1], *attributes),
        None if bias is None else v.total(g, (0, 2, 3), False),
    )


@rule("conv2d_input", keep=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv2d_input(node: Any, g: Any) -> Any:
    attributes = node.args[1:]
    first, w = node.edges
    return (
        None if first is None else _forward(g, node.kept(g, 1), None, *attributes),
        None if w is None else _weight(node.kept(g, 0), g, node.shapes[1], *attributes),
    )


@rule("conv2d_weight", keep=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv2d_weight(node: Any, g: Any) -> Any:
    attributes = node.args[1:]
    first, x = node.edges
    return (
        None if first is None else _forward(node.kept(g, 1), g, None, *attributes),
        None if x is None else _input(node.kept(g, 0), g, node.shapes[1], *attributes),
    )


@rule("conv_transpose2d", keep=(0, 1), crosswise=(0, 1), label="ConvolutionBackward0")
def conv_transpose2d(node: Any, g: Any) -> Any:
    x, w = node.edges[:2]
    stride, padding, _, dilation, groups = node.args[-5:]
    attributes = (stride, padding, dilation, groups)
    bias = node.edges[2] if len(node.edges) > 2 else None
    return (
        None if x is None else _forward(g, node.kept(g, 1), None, *attributes),
        None if w is None else _weight(node.kept(g, 0), g, node.shapes[1], *attributes),
        None if bias is None else v.total(g, (0, 2, 3), False),
    )
