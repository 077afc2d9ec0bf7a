"""Optimiser steps as one kernel for each parameter. They write the memory of the parameter and of its state."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from mindspore import ops

from ..raw import Raw, from_numpy
from ..table import define
from ..tape import bump_versions

_adam = ops.Adam()
# With use_nesterov the kernel's numbers are not torch's on CPU (2.7.2 to 2.10): that form is composed.
_momentum = ops.ApplyMomentum()


@lru_cache(maxsize=64)
def _number(value: float) -> Raw:
    """A 0-d tensor. A Python float would be a constant of the kernel, which is selected anew for each value (1.3 ms)."""
    return from_numpy(np.array(value, np.float32))


@lru_cache(maxsize=64)
def _taken(beta: float) -> float:
    """The part of ``1 - beta`` that is left of it in float32."""
    return float(np.float32(1) - np.float32(beta)) / (1 - beta) if beta < 1 else 1.0


def ops_adam_step(
    param: Raw, grad: Raw, exp_avg: Raw, exp_avg_sq: Raw, step: float, lr: float, beta1: float, beta2: float, eps: float
) -> None:
    """Adam's update. The kernel adds eps to the root before the bias correction: scaled by it, the two agree.

    The correction goes into the learning rate: the kernel would take it from powers in float32, which 1 is close to. So does
    what the moments lose where the kernel takes ``1 - beta`` in float32 (0.00099999 for 0.999).
    """
    correction2 = (_taken(beta2) * (1 - beta2**step)) ** 0.5
    _adam(
        param, exp_avg, exp_avg_sq, _number(0.0), _number(0.0),
        _number(lr * correction2 / (_taken(beta1) * (1 - beta1**step))), _number(beta1), _number(beta2),
        _number(eps * correction2), grad,
    )  # fmt: skip
    bump_versions([param])


def ops_momentum_step(param: Raw, grad: Raw, buffer: Raw, lr: float, momentum: float) -> None:
    """``buffer = momentum * buffer + grad``; the parameter goes down by ``lr`` times it."""
    _momentum(param, buffer, _number(lr), grad, _number(momentum))
    bump_versions([param])


define("adam_step", cpu=ops_adam_step, dtypes=("float32",))
define("momentum_step", cpu=ops_momentum_step, dtypes=("float32",))
