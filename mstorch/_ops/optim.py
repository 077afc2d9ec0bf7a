"""Fused optimiser steps on tensors, and the counters that optimisers keep."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._backend.raw import ON_CPU, Raw, from_numpy
from .._backend.table import kernel
from .._backend.tape import tracing
from .._core.tensor_base import is_tracked

_adam = kernel("adam_step")
_momentum = kernel("momentum_step")


def can_fuse(params: Sequence[Any], grads: Sequence[Any], *states: Sequence[Any]) -> bool:
    """Whether the fused kernels may write these tensors: float32, each a whole storage, nothing recorded."""
    if not ON_CPU or tracing() is not None:
        return False
    for group in (params, grads, *states):
        for tensor in group:
            if tensor._dtype.name != "float32" or tensor._view is not None:
                return False
    for group in (grads, *states):
        for tensor in group:
            if is_tracked(tensor):
                return False
    return True


def _memory(tensor: Any) -> Raw:
    """The tensor's raw value, whose memory belongs to it alone, counted as written."""
    storage = tensor._storage
    storage.own()
    storage.version += 1
    return storage.value


def increment(counter: Any) -> float:
    """Add 1 to a 0-d counter and return it: a kernel would cost more than the update of a small parameter."""
    storage = counter._storage
    if not ON_CPU or counter._view is not None or storage.shared or is_tracked(counter) or tracing() is not None:
        counter.add_(1)
        return float(counter.item())
    # Reading the memory costs as much as a kernel: the count of this version is kept beside it.
    known = counter.__dict__.get("_count")
    value = (known[1] if known is not None and known[0] == storage.version else float(counter.item())) + 1.0
    storage.value = from_numpy(np.array(value, counter._dtype.np))
    storage.owned = True
    storage.version += 1
    counter.__dict__["_count"] = (storage.version, value)
    return value


def adam_step(
    param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, step: float, lr: float, beta1: float, beta2: float, eps: float
) -> None:
    """Adam's update of one parameter and its moments, in place; ``step`` counts from 1."""
    _adam["float32"](
        _memory(param), grad._storage.value, _memory(exp_avg), _memory(exp_avg_sq), step, lr, beta1, beta2, eps
    )


def momentum_step(param: Any, grad: Any, buffer: Any, lr: float, momentum: float) -> None:
    """The update of one parameter and its momentum buffer, in place."""
    _momentum["float32"](_memory(param), grad._storage.value, _memory(buffer), lr, momentum)
