"""Gradients of activations."""
from __future__ import annotations

from typing import Any

from .. import vocabulary as v
from ..apply import rule


@rule("relu", keep=("result",))
def relu(node: Any, g: Any) -> Any:
    return v.where(v.positive(node.kept(g)), g, 0)


@rule("silu", keep=(0,))
def silu(node: Any, g: Any) -> Any:
    x = node.kept(g)
    share = v.sigmoid(x)
    return v.mul(g, v.mul(share, v.plus(v.mul(x, v.plus(v.neg(share), 1)), 1)))


@rule("leaky_relu", keep=(0,))
def leaky_relu(node: Any, g: Any) -> Any:
    return v.where(v.positive(node.kept(g)), g, v.times(g, node.args[0]))
