"""Gradients of activations."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.host.activation import gelu_slope
from .. import vocabulary as v
from ..apply import rule


@rule("relu", keep=("result",))
def relu(node: Any, g: Any) -> Any:
    return v.where(v.positive_or_nan(node.kept(g)), g, 0)


@rule("silu", keep=(0,))
def silu(node: Any, g: Any) -> Any:
    x = node.kept(g)
    share = v.sigmoid(x)
    return v.mul(g, v.mul(share, v.plus(v.mul(x, v.plus(v.neg(share), 1)), 1)))


@rule("leaky_relu", keep=(0,))
def leaky_relu(node: Any, g: Any) -> Any:
    return v.where(v.positive(node.kept(g)), g, v.times(g, node.args[0]))


@rule("gelu", keep=(0,))
def gelu(node: Any, g: Any) -> Any:
    x = node.kept(g)
    if g.__class__ is np.ndarray and g.dtype.char in "fd" and g.ndim:
        return gelu_slope(x, g)
    share = v.times(v.plus(v.erf(v.times(x, 0.7071067811865476)), 1), 0.5)
    density = v.times(v.exp(v.times(v.mul(x, x), -0.5)), 0.3989422804014327)
    return v.mul(g, v.add(share, v.mul(x, density)))


@rule("gelu_tanh", keep=(0,), label="GeluBackward0")
def gelu_tanh(node: Any, g: Any) -> Any:
    x = node.kept(g)
    squared = v.mul(x, x)
    inner = v.tanh(v.times(v.mul(x, v.plus(v.times(squared, 0.044715), 1)), 0.7978845608028654))
    slope = v.times(v.plus(v.times(squared, 3 * 0.044715), 1), 0.7978845608028654)
    by_inner = v.mul(v.mul(x, v.plus(v.neg(v.mul(inner, inner)), 1)), slope)
    return v.mul(g, v.times(v.add(v.plus(inner, 1), by_inner), 0.5))
