"""Fused optimizer steps, and step counters."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.blocks import elementwise
from ...backend.onednn.gemm import add_multiple
from ...backend.onednn.library import FOUND
from ...backend.table import kernel
from ...core.dtype import float32
from ...core.mirrors import modes_are_on
from ...core.modes import modes
from ...core.overriding import TENSORS
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, is_tracked, put_raw, touch, value_of
from ...tape.ways import fused, in_arrays, ways

_FINAL: Any = TENSORS  # untyped, because mypy narrows an item of a set of types to object


def can_fuse(params: Sequence[Any], grads: Sequence[Any], *states: Sequence[Any]) -> bool:
    """Return whether the fused kernels can write to these tensors: float32 of one shape, row-major, each in a memory of its own, not
    tracked by autograd, and of classes that have no operations of their own."""
    if modes_are_on() or LEVELS or (modes.grad and any(map(is_tracked, params))):
        return False  # a differentiable step is tracked by autograd, or raises
    for group in (params, grads, *states):
        for tensor in group:
            if type(tensor) not in _FINAL or tensor._ms_dtype is not float32 or tensor._ms_stride is not None:
                return False
        if not in_arrays(*group):
            return False
    for group in (grads, *states):
        for tensor, param in zip(group, params):
            if is_tracked(tensor) or tensor._ms_shape != param._ms_shape or tensor._ms_storage is param._ms_storage:
                return False
    return True


def has_kernels(op: str, params: Sequence[Any], grads: Sequence[Any], *states: Sequence[Any]) -> bool:
    """Return whether a device's step kernel supports these tensors: float32, each a whole storage, not tracked by autograd, and of
    classes that have no operations of their own."""
    if modes_are_on():
        return False
    for group in (params, grads, *states):
        for tensor in group:
            is_plain = type(tensor) in _FINAL and tensor._ms_dtype is float32 and tensor._ms_stride is None
            if not is_plain or not fused(op, float32, tensor):
                return False
    if modes.grad and any(map(is_tracked, params)):
        return False
    pairs = [pair for group in (grads, *states) for pair in zip(group, params)]
    return not any(is_tracked(tensor) or tensor._ms_shape != param._ms_shape for tensor, param in pairs)


def _increment_array(counter: TensorBase) -> float | None:
    if is_tracked(counter):
        return None
    array = array_of(counter)
    array += 1
    touch(counter)
    return float(array)


@ways(host=_increment_array)
def increment(counter: Any) -> float:
    """Add 1 to a 0-d counter and return it."""
    counter.add_(1)
    return float(counter.item())


_MOST = 1 << 22  # number of elements in a batch: bounds the memory of temporary arrays (negated gradients, decay)


class Steps:
    """Fused parameter updates, collected in a ``with`` block and run together at its end."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Any, list[Array], int]] = []
        self.written: list[Any] = []
        self.memory: set[int] = set()
        self.elements = 0

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *error: object) -> None:
        self.run()

    def run(self) -> None:
        """Run the collected updates."""
        jobs, written = self.jobs, self.written
        self.jobs, self.written = [], []
        self.memory.clear()
        self.elements = 0
        elementwise(jobs)
        for tensor in written:
            touch(tensor)

    def before(self, *tensors: TensorBase) -> None:
        """Run the collected updates first if these tensors are sparse, or share memory with tensors of the updates."""
        memory = self.memory
        if memory and any(tensor._ms_sparse or id(tensor._ms_storage) in memory for tensor in tensors):
            self.run()

    def _gather(self, step: Callable[..., Any], written: tuple[Any, ...], grad: TensorBase, passes: int) -> None:
        tensors = (*written, grad)
        self.before(*tensors)
        self.memory.update([id(tensor._ms_storage) for tensor in tensors])
        self.jobs.append((step, [array_of(tensor) for tensor in tensors], passes))
        self.written.extend(written)
        self.elements += self.jobs[-1][1][0].size
        if self.elements > _MOST:
            self.run()

    def adam(
        self, param: TensorBase, grad: TensorBase, exp_avg: TensorBase, exp_avg_sq: TensorBase, step: float, lr: float, beta1: float,
        beta2: float, eps: float, decay: float,
    ) -> None:  # fmt: skip
        """Update a parameter and its moments by Adam, after weight decay by ``lr * decay``; ``step`` counts from 1."""
        shrink = None if decay == 0 else 1 - lr * decay

        def update(p: Array, m: Array, v: Array, g: Array) -> None:
            _adam_arrays(p, g, m, v, step, lr, beta1, beta2, eps, shrink)

        self._gather(update, (param, exp_avg, exp_avg_sq), grad, 16)
        if shrink is not None:
            self.written.append(param)  # two writes, as in torch

    def momentum(self, param: TensorBase, grad: TensorBase, buffer: TensorBase, lr: float, momentum: float) -> None:
        """Update a parameter and its momentum buffer."""
        self._gather(lambda p, b, g: _momentum_arrays(p, g, b, lr, momentum), (param, buffer), grad, 6)

    def plain(self, param: TensorBase, grad: TensorBase, lr: float) -> None:
        """Update a parameter by gradient descent."""
        self._gather(lambda p, g: _descend(p, g, lr), (param,), grad, 4)


def _adam_arrays(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, step: float, lr: float, beta1: float,
    beta2: float, eps: float, shrink: float | None,
) -> None:  # fmt: skip
    real = param.dtype.type
    if shrink is not None:
        param *= real(shrink)
    low = np.subtract(grad, exp_avg, out=np.empty_like(param))
    low *= real(1 - beta1)
    exp_avg += low
    exp_avg_sq *= real(beta2)
    np.multiply(grad, grad, out=low)
    low *= real(1 - beta2)
    exp_avg_sq += low
    np.sqrt(exp_avg_sq, out=low)
    low /= real((1 - beta2**step) ** 0.5)
    low += real(eps)
    np.divide(exp_avg, low, out=low)
    low *= real(-lr / (1 - beta1**step))
    param += low


def _momentum_arrays(param: Array, grad: Array, buffer: Array, lr: float, momentum: float) -> None:
    buffer *= buffer.dtype.type(momentum)
    buffer += grad
    _descend(param, buffer, lr)


def _descend(param: Array, direction: Array, lr: float) -> None:
    if FOUND:
        add_multiple(-lr, direction, param)  # rounded as in torch
    else:
        param -= direction * direction.dtype.type(lr)


_adamw_kernel, _momentum_kernel, _add_kernel = kernel("adamw_step"), kernel("momentum_step"), kernel("add_scaled")


@ways(native=value_of)
def _count_of(counter: TensorBase) -> float:
    return float(counter.item())


def adamw_on_device(
    param: TensorBase, grad: TensorBase, exp_avg: TensorBase, exp_avg_sq: TensorBase, counter: TensorBase, lr: float, beta1: float,
    beta2: float, decay: float, penalty: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """Run an Adam step for a parameter, its moments and its counter by a device kernel, in place.

    ``decay`` shrinks the parameter, ``penalty`` times the parameter is added to the gradient.
    """
    slope, raw = value_of(grad), value_of(param)
    if penalty != 0:
        slope = _add_kernel["float32"](slope, raw, -penalty if maximize else penalty)
    done = _count_of(counter)
    numbers = (float(beta1), float(beta2), float(decay), float(eps), bool(maximize))
    found = _adamw_kernel["float32"](raw, slope, value_of(exp_avg), value_of(exp_avg_sq), done, lr, *numbers)
    for tensor, new in zip((param, exp_avg, exp_avg_sq), found):
        put_raw(tensor, new)
    counter.add_(1)


def momentum_step_on_device(param: TensorBase, grad: TensorBase, buffer: TensorBase, lr: float, momentum: float) -> None:
    """Run a step with momentum for a parameter and its buffer by one device kernel, in place."""
    updated = _momentum_kernel["float32"](value_of(param), value_of(grad), value_of(buffer), lr, momentum)
    for tensor, new in zip((param, buffer), updated):
        put_raw(tensor, new)


def momentum_on_device(buffer: TensorBase, grad: TensorBase, momentum: float) -> None:
    """Compute ``buffer = grad + momentum * buffer`` by one device kernel."""
    put_raw(buffer, _add_kernel["float32"](value_of(grad), value_of(buffer), momentum))
