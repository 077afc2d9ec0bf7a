"""Fused optimiser steps on tensors, and the counters that optimisers keep."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._backend.raw import ON_CPU, Raw
from .._backend.table import forked, kernel
from .._core.storage import face
from .._core.tensor_base import array_of, count_of, is_tracked, touch
from ._dispatch import capturing

_adam = kernel("adam_step")
_momentum = kernel("momentum_step")


def can_fuse(params: Sequence[Any], grads: Sequence[Any], *states: Sequence[Any]) -> bool:
    """Whether the fused kernels may write these tensors: float32, each a whole storage, nothing recorded."""
    if not ON_CPU or capturing():
        return False
    for group in (params, grads, *states):
        for tensor in group:
            if tensor._dtype.name != "float32" or tensor._stride is not None:
                return False
    for group in (grads, *states):
        for tensor in group:
            if is_tracked(tensor):
                return False
    return True


def _memory(tensor: Any) -> Raw:
    """MindSpore's tensor over the tensor's memory, counted as written."""
    touch(tensor)
    return face(array_of(tensor))


def increment(counter: Any) -> float:
    """Add 1 to a 0-d counter and return it."""
    if not ON_CPU or is_tracked(counter) or capturing():
        counter.add_(1)
        return float(counter.item())
    array = array_of(counter)
    array += 1
    touch(counter)
    return float(array)


_SMALL = 1 << 14  # elements, below which a call of MindSpore's kernel costs more than NumPy's passes over the memory


def _small_adam(
    param: np.ndarray, grad: np.ndarray, exp_avg: np.ndarray, exp_avg_sq: np.ndarray, step: float, lr: float, beta1: float,
    beta2: float, eps: float,
) -> None:  # fmt: skip
    real = param.dtype.type
    exp_avg += (grad - exp_avg) * real(1 - beta1)
    exp_avg_sq *= real(beta2)
    exp_avg_sq += grad * grad * real(1 - beta2)
    low = np.asarray(np.sqrt(exp_avg_sq))
    low /= real((1 - beta2**step) ** 0.5)
    low += real(eps)
    np.divide(exp_avg, low, out=low)
    low *= real(-lr / (1 - beta1**step))
    param += low


def adam_step(
    param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, step: float, lr: float, beta1: float, beta2: float, eps: float
) -> None:
    """Adam's update of one parameter and its moments, in place; ``step`` counts from 1."""
    if count_of(param._shape) < _SMALL or forked.here:
        _small_adam(array_of(param), array_of(grad), array_of(exp_avg), array_of(exp_avg_sq), step, lr, beta1, beta2, eps)
        for tensor in (param, exp_avg, exp_avg_sq):
            touch(tensor)
        return
    _adam["float32"](
        _memory(param), face(array_of(grad)), _memory(exp_avg), _memory(exp_avg_sq), step, lr, beta1, beta2, eps
    )


def momentum_step(param: Any, grad: Any, buffer: Any, lr: float, momentum: float) -> None:
    """The update of one parameter and its momentum buffer, in place."""
    if forked.here:
        old = array_of(buffer)
        old *= old.dtype.type(momentum)
        old += array_of(grad)
        values = array_of(param)
        values -= old * old.dtype.type(lr)
        touch(param)
        touch(buffer)
        return
    _momentum["float32"](_memory(param), face(array_of(grad)), _memory(buffer), lr, momentum)
