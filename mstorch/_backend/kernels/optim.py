"""Optimiser steps as one kernel for each parameter. They write the memory of the parameter and of its state."""
from __future__ import annotations

from mindspore import ops

from ..raw import Raw
from ..table import define
from ..tape import bump_versions

_adam = ops.Adam()
# With use_nesterov the kernel's numbers are not torch's on CPU (2.7.2 to 2.10): that form is composed.
_momentum = ops.ApplyMomentum()


def ops_adam_step(
    param: Raw, grad: Raw, exp_avg: Raw, exp_avg_sq: Raw, step: float, lr: float, beta1: float, beta2: float, eps: float
) -> None:
    """Adam's update. The kernel adds eps to the root before the bias correction: scaled by it, the two agree."""
    correction2 = 1 - beta2**step
    _adam(param, exp_avg, exp_avg_sq, beta1**step, beta2**step, lr, beta1, beta2, eps * correction2**0.5, grad)
    bump_versions([param])


def ops_momentum_step(param: Raw, grad: Raw, buffer: Raw, lr: float, momentum: float) -> None:
    """``buffer = momentum * buffer + grad``; the parameter goes down by ``lr`` times it."""
    _momentum(param, buffer, lr, grad, momentum)
    bump_versions([param])


define("adam_step", cpu=ops_adam_step, dtypes=("float32",))
define("momentum_step", cpu=ops_momentum_step, dtypes=("float32",))
