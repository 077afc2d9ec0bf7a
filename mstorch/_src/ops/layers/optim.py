"""Fused optimizer steps, and step counters."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
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
from ...core.tensor_base import TensorBase, array_of, is_tracked, put_raw, touch_all, value_of
from ...tape.ways import fused, in_arrays, ways
from ..memory.together import memories_differ

_FINAL: Any = TENSORS  # untyped, because mypy narrows an item of a set of types to object


def can_fuse(params: Sequence[Any], grads: Sequence[Any], *states: Sequence[Any]) -> bool:
    """Return whether the fused kernels can write to these tensors: float32 of one shape, row-major, each in a memory of its own, not
    tracked by autograd, and of classes that have no operations of their own."""
    if modes_are_on() or LEVELS or (modes.grad and any(map(is_tracked, params))):
        return False  # a differentiable step is tracked by autograd, or raises
    for group in (params, grads, *states):
        for tensor, param in zip(group, params):
            if type(tensor) not in _FINAL or tensor._ms_dtype is not float32 or tensor._ms_stride is not None:
                return False
            if tensor._ms_shape != param._ms_shape:
                return False
            if tensor is not param and tensor._ms_storage is param._ms_storage:
                return False
            if tensor is not param and (tensor._ms_node is not None or (tensor._ms_auto is not None and is_tracked(tensor))):
                return False
    return in_arrays(*params, *grads, *[tensor for group in states for tensor in group])  # last: sparse tensors have no storage


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


def _increment(counter: Any) -> float:
    """Add 1 to a 0-d counter and return it."""
    array = counter._ms_array
    if array is None or counter._ms_auto is not None or counter._ms_node is not None or counter._ms_storage.moved:
        counter.add_(1)
        return float(counter.item())
    array += 1
    touch_all((counter,))
    return float(array)


_MOST = 1 << 22  # number of elements in a batch: bounds the memory of temporary arrays (negated gradients, decay)


class Steps:
    """Fused parameter updates, collected in a ``with`` block and run together at its end.

    The tensors that the block is given are all that its updates read and write. Only if some of these share memory, or are sparse, each
    update is looked at by itself."""

    def __init__(self, *groups: Sequence[Any]) -> None:
        self.jobs: list[tuple[Any, list[Array], int]] = []
        self.written: list[Any] = []
        self.memory: set[int] = set()
        self.elements = 0
        tensors = [tensor for group in groups for tensor in group if tensor is not None]
        self.apart = True not in [tensor._ms_sparse for tensor in tensors] and memories_differ(tensors)

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
        touch_all(written)

    def before(self, *tensors: TensorBase) -> None:
        """Run the collected updates first if these tensors are sparse, or share memory with tensors of the updates."""
        memory = self.memory
        if memory and any(tensor._ms_sparse or id(tensor._ms_storage) in memory for tensor in tensors):
            self.run()

    def _collect(self, step: Callable[..., Any], written: tuple[Any, ...], grad: TensorBase, passes: int) -> None:
        tensors = (*written, grad)
        if not self.apart:
            self.before(*tensors)
            self.memory.update([id(tensor._ms_storage) for tensor in tensors])
        arrays = []
        for tensor in tensors:
            array = tensor._ms_array  # `array_of` written out: a step of a small network is calls
            arrays.append(array_of(tensor) if array is None or tensor._ms_storage.moved else array)
        self.jobs.append((step, arrays, passes))
        self.written.extend(written)
        self.elements += arrays[0].size
        if self.elements > _MOST:
            self.run()

    def adam(
        self, params: Sequence[Any], grads: Sequence[Any], exp_avgs: Sequence[Any], exp_avg_sqs: Sequence[Any], counters: Sequence[Any],
        lr: float, beta1: float, beta2: float, eps: float, decay: float, maximize: bool,
    ) -> None:  # fmt: skip
        """Update parameters and moments by Adam, after weight decay by ``lr * decay``; each counter is incremented, and counts from 1."""
        shrink = None if decay == 0 else 1 - lr * decay
        for param, grad, exp_avg, exp_avg_sq, counter in zip(params, grads, exp_avgs, exp_avg_sqs, counters, strict=True):
            if not self.apart:
                self.before(param, grad, exp_avg, exp_avg_sq)
            slope = -grad if maximize else grad
            update = partial(_adam_arrays, _increment(counter), lr, beta1, beta2, eps, shrink)
            self._collect(update, (param, exp_avg, exp_avg_sq), slope, 16)
            if shrink is not None:
                self.written.append(param)  # two writes, as in torch

    def momentum(self, param: TensorBase, grad: TensorBase, buffer: TensorBase, lr: float, momentum: float) -> None:
        """Update a parameter and its momentum buffer."""
        self._collect(partial(_momentum_arrays, lr, momentum), (param, buffer), grad, 6)

    def plain(self, param: TensorBase, grad: TensorBase, lr: float) -> None:
        """Update a parameter by gradient descent."""
        self._collect(partial(_descend, lr), (param,), grad, 4)


def _adam_arrays(
    step: float, lr: float, beta1: float, beta2: float, eps: float, shrink: float | None,
    param: Array, exp_avg: Array, exp_avg_sq: Array, grad: Array,
) -> None:  # fmt: skip
    real = param.dtype.type
    if shrink is not None:
        param *= real(shrink)
    low = np.subtract(grad, exp_avg, out=np.empty(param.shape, real))
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


def _momentum_arrays(lr: float, momentum: float, param: Array, buffer: Array, grad: Array) -> None:
    buffer *= buffer.dtype.type(momentum)
    buffer += grad
    _descend(lr, param, buffer)


def _descend(lr: float, param: Array, direction: Array) -> None:
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
