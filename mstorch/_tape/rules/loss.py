"""Gradients of losses."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.host.softmax import softmax_of
from ..._backend.raw import full
from ..._core.dtype import float16
from .. import movement
from .. import vocabulary as v
from ..apply import rule

_scatter = v.Primitive("scatter")


@rule("cross_entropy", keep=(0,), label="NllLossBackward0")
def cross_entropy(node: Any, g: Any) -> Any:
    (target,) = node.args
    rows, classes = node.shapes[0]
    x = node.kept(g)
    if g.__class__ is np.ndarray:
        share = softmax_of(x, 1)
        share[np.arange(rows), target] -= 1
        share *= g / g.dtype.type(rows)
        return share
    if v.of_device(g):
        ones = v.like(full((rows, 1), -1, node.kind.name), g)
        share = _scatter(v.softmax(x, 1), ones, 1, movement.reshaped(target, (rows, 1)), "add")
        return v.mul(share, v.div(g, v.constant(rows, g)))
    wanted = np.zeros((rows, classes), node.kind.np)
    wanted[np.arange(rows), target] = 1
    share = v.sub(v.softmax(x, 1), v.like(wanted, g))
    return v.mul(share, v.div(g, v.constant(rows, g)))


@rule("nll", watch=(0,), label="NllLossBackward0")
def nll(node: Any, g: Any) -> Any:
    target, weights = node.args
    shape = node.shapes[0]
    if v.of_device(g):
        share = v.neg(v.mul(g, v.like(weights, g)))
        n, length = v.shape_of(share)
        return v.scattered(v.reshape(share, (n, 1, length)), shape, 1, movement.reshaped(target, (n, 1, length)))
    place = target[:, None, :]

    def placed(array: np.ndarray) -> np.ndarray:
        whole = np.zeros(shape, array.dtype)
        np.put_along_axis(whole, place, array[:, None, :], 1)
        return whole

    def taken(array: np.ndarray) -> np.ndarray:
        return np.take_along_axis(array, place, 1)[:, 0, :]

    return v.mapped(v.mul(g, v.like(np.negative(weights), g)), placed, taken, "NllLossBackward0")


@rule("binary_cross_entropy", keep=(0, 1))
def binary_cross_entropy(node: Any, g: Any) -> Any:
    x, target = node.kept(g, 0), node.kept(g, 1)
    by_x = by_target = None
    if node.edges[0] is not None:
        least = 0.0 if node.kind is float16 else 1e-12  # what 1e-12 is in float16
        by_x = v.wide(lambda g, x, target: _by_probability(g, x, target, least))(g, x, target)
    if node.edges[1] is not None:
        by_target = v.wide(lambda g, x: v.mul(g, v.sub(v.log1p(v.neg(x)), v.log(x))))(g, x)
    return by_x, by_target


def _by_probability(g: Any, x: Any, target: Any, least: float) -> Any:
    spread = v.mul(x, v.plus(v.neg(x), 1))
    return v.mul(g, v.div(v.sub(x, target), v.where(v.less_than(spread, least), least, spread)))
