"""Connectionist temporal classification (https://www.cs.toronto.edu/~graves/icml_2006.pdf)."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.table import kernel
from ...core.tensor_base import TensorBase, array_of, is_tracked
from ...tape.moving import beside
from ...tape.ways import ways
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import call
from .._named import watching
from .._operation import operation
from ..elementwise.compare import eq, isfinite, logical_and, where
from ..elementwise.elementwise import div, mul, neg
from ..elementwise.math import log
from ..memory.from_data import made
from ..reduce.reduce import mean
from ..reduce.reduce import sum as sum_of
from ..shape import views
from .loss_reduction import chosen

PUBLIC_IN = "nn.functional"

_ctc = kernel("ctc_loss")


def _lengths(value: TensorBase, name: str, batch: int) -> Array:
    array = array_of(value) if isinstance(value, TensorBase) else np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise RuntimeError(f"{name} must be integral")
    array = array.reshape(-1).astype(np.int64)
    if array.size != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    if (array < 0).any():
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {array[array < 0][0]} {_WHERE}")
    return array


_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


@operation(autocast=FLOAT32_ON_CPU)
@watching("log_probs targets")
def ctc_loss(
    log_probs: TensorBase, targets: TensorBase, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the negative log-probability of each target, over all alignments.

    ``log_probs`` is (T, N, C) or (T, C), ``targets`` (N, S) or all targets concatenated. The mean is over the batch, with each loss divided
    by its target's length.
    """
    reduction = chosen(reduction, None, None)
    single = len(log_probs._ms_shape) == 2
    if single:
        log_probs = views.unsqueeze(log_probs, 1)
    steps, batch, classes = log_probs._ms_shape
    if 0 in (steps, batch, classes):
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs = _lengths(input_lengths, "input_lengths", batch)
    wanted = _lengths(target_lengths, "target_lengths", batch)
    if (inputs > steps).any():
        at = int(np.argmax(inputs > steps))
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {inputs[at]} {_WHERE}"
        )
    return _reduced_losses(log_probs, targets, inputs, wanted, blank, reduction, zero_infinity, single)


def _losses_of_nothing(
    log_probs: TensorBase, targets: TensorBase, inputs: Array, wanted: Array, blank: int, reduction: str, *rest: bool
) -> TensorBase:
    loss = sum_of(log_probs, (0, 2))  # one loss per sequence, on the meta device
    return loss if reduction == "none" and not rest[-1] else sum_of(loss)


@ways(absent=_losses_of_nothing)
def _reduced_losses(
    log_probs: TensorBase, targets: TensorBase, inputs: Array, wanted: Array, blank: int, reduction: str, zero_infinity: bool, single: bool
) -> TensorBase:
    batch = log_probs._ms_shape[1]
    rows = _rows(targets, wanted, batch)
    # The kernel rejects a target that cannot fit: equal neighbours need a blank between them.
    repeats = np.array([(row[1:n] == row[: n - 1]).sum() if n > 1 else 0 for row, n in zip(rows, wanted)], np.int64)
    fits = wanted + repeats <= inputs
    some = inputs > 0  # for 0 steps the kernel would read beyond the input
    loss = call(_ctc, (log_probs,), rows, np.maximum(inputs, 1), np.where(fits & some, wanted, 0), blank, zero_infinity)
    if not some.all():
        loss = where(beside(made(some), loss), loss, -0.0)
    if not fits.all():
        loss = where(beside(made(fits), loss), loss, 0.0 if zero_infinity else _infinite(log_probs, inputs, fits))
    if zero_infinity:  # the kernel does not do this if log-probabilities are -inf
        loss = where(eq(loss, float("inf")), 0.0, loss)
    if reduction == "none":
        return views.squeeze(loss, 0) if single else loss
    if reduction == "sum":
        return sum_of(loss)
    return mean(div(loss, beside(made(np.maximum(wanted, 1).astype(log_probs._ms_dtype.np)), loss)))


def _infinite(log_probs: TensorBase, inputs: Array, fits: Array) -> Any:
    """Return infinite losses for targets without any alignment, with torch's gradient: NaN at each input step."""
    if not is_tracked(log_probs):
        return float("inf")
    counted = made((np.arange(log_probs._ms_shape[0])[:, None] < inputs)[:, :, None] & ~fits[:, None])
    read = beside(counted, log_probs)
    return neg(log(mul(sum_of(where(logical_and(read, isfinite(log_probs.detach())), log_probs, 0.0), (0, 2)), 0.0)))


def _rows(targets: TensorBase, lengths: Array, batch: int) -> Array:
    """Return the targets as a matrix (N, longest)."""
    values = array_of(targets).astype(np.int64)
    longest = max(int(lengths.max(initial=0)), 1)
    if values.ndim == 2:
        if values.shape[1] < lengths.max(initial=0):
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {values.shape[1]} for argument #2 "
                f"'targets' {_WHERE}"
            )
        if values.shape[1] < longest:
            values = np.pad(values, ((0, 0), (0, longest - values.shape[1])))
        return np.ascontiguousarray(values[:, :longest])
    rows = np.zeros((batch, longest), np.int64)
    start = 0
    for row, length in zip(rows, lengths):
        row[:length] = values[start : start + length]
        start += length
    return rows
