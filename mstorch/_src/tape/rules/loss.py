"""Gradients of losses."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.device_memory import full
from ...backend.formulas import loss as formulas
from ...backend.host.softmax import softmax_of
from ...backend.raw import Raw
from ...core.dtype import float16
from ...core.tensor_base import TensorBase
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand


def _cross_entropy_of_arrays(node: Any, g: Array) -> Array:
    (target,), rows = node.args, node.shapes[0][0]
    share = softmax_of(node.kept(g), 1)
    share[np.arange(rows), target] -= 1
    share *= g / g.dtype.type(rows)
    return share


@rule("cross_entropy", keep=(0,), label="NllLossBackward0")
@v.by_gradient(array=_cross_entropy_of_arrays)
def cross_entropy(node: Applied, g: TensorBase) -> TensorBase:
    (target,) = node.args
    rows, classes = node.shapes[0]
    x = node.kept(g)
    wanted = np.zeros((rows, classes), node.kind.np)
    wanted[np.arange(rows), target] = 1
    share = v.sub(v.softmax(x, 1), v.like(wanted, g))
    return v.mul(share, v.div(g, v.constant(rows, g)))


_cross_entropy_grad, _nll_grad = v.Primitive("cross_entropy_grad"), v.Primitive("nll_grad")


def _by_kernel_of_logits(node: Any, gradients: list[Raw | None]) -> Raw:
    g, by_logs = gradients
    return _cross_entropy_grad(g, node.kept(g), *node.args) if by_logs is None else None


@rule("cross_entropy_parts", keep=("result1",), label="NllLossBackward0")
@v.by_gradient(raw=_by_kernel_of_logits)
def cross_entropy_parts(node: Any, gradients: Any) -> Any:
    """Return the gradient of cross entropy on a device for the logits. The node has two results: the loss, and the log-probabilities,
    through which second-order gradients flow."""
    g, by_logs = gradients
    logs = node.kept(by_logs if g is None else g)
    if g is not None:
        by_logs = v.sum_of(by_logs, _by_logs(node, g, None))
    return v.sub(by_logs, v.mul(v.exp(logs), v.total(by_logs, (1,))))


def _by_kernel_of_rows(node: Any, gradients: Any) -> Any:
    g = gradients[0]
    target, weight, ignored, reduction = node.args
    return _nll_grad(g, node.kept(g), target, weight, node.kept(g, 1), ignored, reduction)


@rule("nll_parts", keep=(0, "result1"), label="NllLossBackward0")
@v.by_gradient(raw=_by_kernel_of_rows)
def nll_parts(node: Any, gradients: Any) -> Any:
    """Return the gradient of the negative log-likelihood on a device for the log-probabilities."""
    g = gradients[0]
    return _by_logs(node, g, v.bare_condition(node.kept(g, 1)))


def _by_logs(node: Any, g: Any, total: Any) -> Any:
    """Return the gradient of nll_loss for the log-probabilities: minus the weight of each target, scattered to the target's class; composed
    of differentiable operations."""
    target, weight, ignored, reduction = node.args
    rows, name = (int(target.shape[0]), 1), node.kind.name
    counted = movement.reshaped(v.ne(target, v.constant(ignored, target)), rows)
    known = movement.reshaped(v.where(movement.reshaped(counted, rows[:1]), target, 0), rows)
    ones = full(rows, 1, name) if weight is None else movement.reshaped(_take.kernel[name](weight, known), rows)
    if reduction == "mean":
        g = v.div(g, v.like(v.total(v.where(counted, ones, 0), (0, 1), False) if total is None else total, g))
    each = v.neg(v.mul(v.reshape(g, rows if reduction == "none" else (1, 1)), v.like(ones, g)))
    each = v.where(counted, each, v.constant(0, each))  # not times 0: where no label counts, the gradient was divided by 0
    return v.scattered(each, node.shapes[0], 1, known)


_take = v.Primitive("take")


def _nll_on_device(node: Any, g: Any) -> Any:
    target, weights = node.args
    share = v.neg(v.mul(g, v.like(weights, g)))
    n, length = v.shape_of(share)
    return v.scattered(v.reshape(share, (n, 1, length)), node.shapes[0], 1, movement.reshaped(target, (n, 1, length)))


@rule("nll", watch=(0,), label="NllLossBackward0")
@v.by_gradient(native=_nll_on_device)
def nll(node: Applied, g: Array) -> Operand:
    target, weights = node.args
    shape = node.shapes[0]
    place = target[:, None, :]

    def placed(array: Array) -> Array:
        whole = np.zeros(shape, array.dtype)
        np.put_along_axis(whole, place, array[:, None, :], 1)
        return whole

    def taken(array: Array) -> Array:
        return np.take_along_axis(array, place, 1)[:, 0, :]

    return v.mapped(v.mul(g, v.like(np.negative(weights), g)), placed, taken, "NllLossBackward0")


@rule("binary_cross_entropy", keep=(0, 1))
def binary_cross_entropy(node: Applied, g: Array) -> tuple[Array | None, ...]:
    x, target = node.kept(g, 0), node.kept(g, 1)
    by_x = by_target = None
    if node.edges[0] is not None:
        least = 0.0 if node.kind is float16 else 1e-12  # float16 rounds 1e-12 to 0
        by_x = v.wide(lambda g, x, target: formulas.binary_cross_entropy_gradient(v, g, x, target, least))(g, x, target)
    if node.edges[1] is not None:
        by_target = v.wide(lambda g, x: formulas.binary_cross_entropy_target_gradient(v, g, x))(g, x)
    return by_x, by_target
