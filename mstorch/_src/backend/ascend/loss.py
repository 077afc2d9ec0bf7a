"""Losses on Ascend, reduced in the same kernel, and their gradients for the first operand."""
from __future__ import annotations

from ..kernels._nodes import constant
from ..raw import Raw
from ..table import FLOATS, HALVES, Function
from ._primitives import enter, run


def _huber(x: Raw, y: Raw, reduction: str, delta: float) -> Raw:
    """Return the Huber loss, which is ``delta`` times the smooth L1 loss with ``beta=delta``."""
    found = run("SmoothL1Loss", x, y, at=(float(delta), reduction))
    return run("Mul", found, constant(delta, found))


def _huber_grad(g: Raw, x: Raw, y: Raw, reduction: str, delta: float) -> Raw:
    return run("SmoothL1LossGrad", x, y, run("Mul", g, constant(delta, g)), at=(float(delta), reduction))


_ROWS: dict[str, Function] = {
    "mse_loss": lambda x, y, how: run("MSELossExt", x, y, how), "mse_loss_grad": lambda g, x, y, how: run("MSELossGradExt", g, x, y, how),
    "smooth_l1_loss": lambda x, y, how, beta: run("SmoothL1Loss", x, y, at=(float(beta), how)),
    "smooth_l1_loss_grad": lambda g, x, y, how, beta: run("SmoothL1LossGrad", x, y, g, at=(float(beta), how)),
    "huber_loss": _huber, "huber_loss_grad": _huber_grad,
    "bce_loss": lambda x, y, how: run("BinaryCrossEntropy", x, y, None, at=(how,)),
    "bce_loss_grad": lambda g, x, y, how: run("BinaryCrossEntropyGrad", x, y, g, None, at=(how,)),
    "bce_logits_loss": lambda x, y, how, *weights: run("BCEWithLogitsLoss", x, y, *weights, at=(how,)),
    "bce_logits_loss_grad": lambda g, x, y, how, *weights: run("BinaryCrossEntropyWithLogitsBackward", g, x, y, *weights, how),
    "soft_margin_loss": lambda x, y, how: run("SoftMarginLoss", x, y, at=(how,)),
    "soft_margin_loss_grad": lambda g, x, y, how: run("SoftMarginLossGrad", x, y, g, at=(how,)),
}  # fmt: skip
for _op, _function in _ROWS.items():
    enter(_op, _function, FLOATS + HALVES)
