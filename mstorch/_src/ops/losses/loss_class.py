"""Classification losses."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend import runtime
from ...backend.arrays import Array, within
from ...backend.host.loss import cross_entropy_slope, mean_of_rows
from ...backend.host.softmax import log_softmax_of
from ...backend.table import Kernel, kernel
from ...core.dtype import dtype, float32, float64, int32, int64, uint8
from ...core.one_device import OneDevice
from ...core.storage import home
from ...core.tensor_base import TensorBase, array_of, tensor_of
from ...tape.moving import beside
from ...tape.node import Passed, edge_of, named
from ...tape.saved_values import watch
from ...tape.ways import fused, in_arrays, ways
from ...tape.whole import followed, in_one_piece, record
from ...tape.windows import linear, no_view
from .._autocast import FLOAT32
from .._dispatch import call, readable, refuse_dtype, type_word
from .._named import call_node, node_called
from .._numbers import not_differentiable, refuse_tracked
from .._one_dtype import expect_dtype
from .._operation import operation
from ..elementwise.compare import ne, where
from ..elementwise.elementwise import add, div, mul, neg
from ..indexing.index import gather, index_select
from ..memory.copying import to_dtype
from ..memory.from_data import made
from ..reduce.reduce import sum as sum_of
from ..reduce.softmax import log_softmax
from ..shape import views
from .loss_reduction import chosen

PUBLIC_IN = "nn.functional"

_cross_entropy = kernel("cross_entropy")
_nll = kernel("nll")
_cross_entropy_parts, _nll_parts = kernel("cross_entropy_parts"), kernel("nll_parts")


def _wider_on_device(target: TensorBase) -> TensorBase | None:
    return to_dtype(target, int64) if target._ms_dtype is int32 and runtime.DEVICE_TARGET == "Ascend" else None


@ways(at=0, device=_wider_on_device)
def _as_classes(target: TensorBase) -> TensorBase:
    """Return a target of classes; an Ascend takes int32 too, as with torch_npu. Raise torch's error for another dtype."""
    if target._ms_dtype not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {type_word(target._ms_dtype)}")
    return target


def _classes(target: TensorBase, classes: int, ignore_index: int) -> tuple[Array, Array | None]:
    """Return the target classes, and a mask of targets that are not ignored, or None if no target is ignored."""
    values = array_of(target)
    if values.size == 0 or (within(values, 0, classes - 1) and not 0 <= ignore_index < classes):
        return values, None
    counted = values != ignore_index
    wrong = values[counted & ((values < 0) | (values >= classes))]
    if wrong.size:
        raise IndexError(f"Target {wrong.reshape(-1)[0]} is out of bounds.")
    return values, counted


def _shapes(input: TensorBase, target: TensorBase) -> tuple[tuple[int, ...], tuple[int, ...]]:
    x, t = input._ms_shape, target._ms_shape
    if len(x) == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(x) != 1 and t and x[0] != t[0]:
        raise ValueError(f"Expected input batch_size ({x[0]}) to match target batch_size ({t[0]}).")
    return x, t


@operation(autocast=FLOAT32, one_device=OneDevice("nll_loss_forward"))
def nll_loss(
    input: TensorBase, target: TensorBase, weight: TensorBase | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return the negative log-probability of the target class: (N, C, *) or (C) with target (N, *) or ()."""
    return _nll_loss(input, target, weight, ignore_index, chosen(reduction, size_average, reduce))


def _check_weight(weight: TensorBase | None, rank: int) -> None:
    """Raise torch's error for class weights that require grad."""
    not_differentiable("nll_loss_forward" if rank < 3 else "nll_loss2d_forward", weight=weight)


def _nll_name(input: TensorBase, target: TensorBase, weight: TensorBase | None, ignore_index: int, reduction: str) -> str:
    rank = len(input._ms_shape)
    if reduction == "none" and rank > 2 and rank != 4:
        return "ViewBackward0"  # torch reshapes these to four dimensions
    return "NllLossBackward0" if rank < 3 else "NllLoss2DBackward0"


@node_called(_nll_name, "target weight")
def _nll_loss(input: TensorBase, target: TensorBase, weight: TensorBase | None, ignore_index: int, reduction: str) -> TensorBase:
    x, t = _shapes(input, target)
    target = _as_classes(target)
    _check_weight(weight, len(x))
    classes = x[0] if len(x) == 1 else x[1]
    expected = () if len(x) == 1 else (x[0], *x[2:])
    if t != expected:
        _refuse_sizes(x, t)
    if weight is not None and weight._ms_shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight._ms_shape)}"
        )
    if _in_one_kernel(_nll_parts, input, target, weight):
        return _by_one_kernel(_nll_parts, input, target, weight, ignore_index, reduction)
    if home(input).has_elements:
        refuse_dtype("nll_loss_out_frame" if len(x) <= 2 else "nll_loss2d_forward_out_frame", input._ms_dtype, 2)
        expect_dtype(input._ms_dtype, weight)
    if readable(target) is None:
        return _nll_in_graph(input, target, weight, ignore_index, reduction)
    values, counted = _classes(target, classes, ignore_index)
    kind = input._ms_dtype
    if reduction == "mean" and len(x) == 2 and weight is None and counted is None and _is_plain(input) and values.size and classes:
        return _mean_of_rows(input, target, values)
    values, shares = _shares(values, counted, weight, kind)
    n = 1 if len(x) == 1 else x[0]
    if math.prod(input._ms_shape) == 0:
        # Sums over no classes: zeros that autograd tracks.
        flat = sum_of(input, 0 if len(x) == 1 else 1)
    else:
        positions = made(np.ascontiguousarray(values.reshape(n, -1), dtype=np.int64))
        share = made(np.ascontiguousarray(shares.reshape(n, -1)).astype(kind.np))
        wide = views.reshape(input, (n, classes, -1))
        flat = call(_nll, (wide,), positions, share)
        if counted is not None and not counted.all():
            flat = _without(flat, counted.reshape(n, -1))
    if reduction == "none":
        return no_view(views.reshape(flat, expected))
    total = sum_of(flat)
    return total if reduction == "sum" else div(total, made(np.asarray(shares.astype(np.float64).sum(), kind.np)))


def _shares(values: Array, counted: Array | None, weight: TensorBase | None, kind: dtype) -> tuple[Array, Array]:
    """Return the classes, 0 for ignored targets, and what each target counts: its class's weight or 1, and 0 if it is ignored."""
    if counted is not None:
        values = np.where(counted, values, 0)
    shares = np.ones(values.shape, kind.np) if weight is None else array_of(weight)[values]
    return values, shares if counted is None else np.where(counted, shares, shares.dtype.type(0))


def _refuse_sizes(x: tuple[int, ...], t: tuple[int, ...]) -> None:
    """Raise torch's error for a target of shape ``t`` that does not fit an input of shape ``x``; one target may have a dimension."""
    if len(x) == 1 and t == (1,):
        return
    if len(x) <= 2 and len(t) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(x) == len(t) == 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {t[0]}")
    if len(x) <= 2:
        raise RuntimeError(f"size mismatch (got input: {list(x)}, target: {list(t)})")
    if len(x) != 4:
        raise RuntimeError(f"Expected target size {[x[0], *x[2:]]}, got {list(t)}")
    if len(t) != 3:
        raise RuntimeError(f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(t)}")
    raise RuntimeError(f"size mismatch (got input: {list(x)} , target: {list(t)}")


def _is_plain(input: TensorBase) -> bool:
    return input._ms_dtype in (float32, float64) and in_arrays(input)


def _mean_of_rows(input: TensorBase, target: TensorBase, classes: Array) -> TensorBase:
    """Return the negated mean of the elements of (N, C) at the classes (N), all of which must be in range."""
    places, shape = (np.arange(len(classes)), classes), input._ms_shape

    def mean(array: Array) -> Array:
        return mean_of_rows(array, classes)

    def spread(gradient: Array) -> Array:
        whole = np.zeros(shape, gradient.dtype)
        whole[places] = -gradient / gradient.dtype.type(len(classes))
        return whole

    return watch(linear(input, mean, spread, "NllLossBackward0"), input, target)


def _mean_of_logits(input: TensorBase, target: TensorBase, classes: Array) -> TensorBase:
    """Return the mean negative log-softmax of (N, C) at the classes, as one autograd node, which saves the log-probabilities like torch's
    and not the logits.
    """
    logs = tensor_of(log_softmax_of(array_of(input), 1))
    result = tensor_of(mean_of_rows(array_of(logs), classes))
    if not followed((input,)):
        return result
    # The log-softmax of log-probabilities are the log-probabilities, with the same slopes as for the logits.
    logs._ms_node = named(Passed, "LogSoftmaxBackward0")((edge_of(input),))
    made = record(
        result, (logs,), "NllLossBackward0", lambda g, kept: (cross_entropy_slope(kept, classes, g),),
        lambda again: _mean_of_rows(log_softmax(again, 1), target, classes),
    )  # fmt: skip
    return watch(made, target)


def _nll_in_graph(input: TensorBase, target: TensorBase, weight: TensorBase | None, ignore_index: int, reduction: str) -> TensorBase:
    """Return the nll loss in a capture: the graph computes which targets are ignored."""
    x, t = input._ms_shape, target._ms_shape
    n, classes = (1, x[0]) if len(x) == 1 else x[:2]
    count = math.prod(t) // n if n else math.prod(x[2:])
    counted, known, shares = _shares_in_graph(views.reshape(target, (n, count)), weight, ignore_index, input._ms_dtype)
    picked = views.squeeze(gather(views.reshape(input, (n, classes, count)), 1, views.unsqueeze(known, 1)), 1)
    flat = where(counted, neg(mul(picked, shares)), 0.0)
    if reduction == "none":
        return views.reshape(flat, () if len(x) == 1 else t)
    total = sum_of(flat)
    return total if reduction == "sum" else div(total, sum_of(shares))


def _shares_in_graph(target: TensorBase, weight: TensorBase | None, ignore_index: int, kind: dtype) -> tuple[Any, Any, Any]:
    """Return a mask of targets that are not ignored, the classes (0 for ignored targets), and the weight of each target."""
    counted = ne(target, ignore_index)
    known = where(counted, to_dtype(target, int64), 0)
    shares = to_dtype(counted, kind)
    if weight is not None:
        shares = mul(shares, views.reshape(index_select(weight, 0, views.reshape(known, (-1,))), known._ms_shape))
    return counted, known, shares


def _in_one_kernel(kernel_: Kernel, input: TensorBase, target: TensorBase, weight: TensorBase | None) -> bool:
    """Return whether one kernel on the tensors' device computes the loss."""
    kind, x = input._ms_dtype, input._ms_shape
    if not fused(kernel_.op, kind, input, target, weight) or (weight is not None and weight._ms_dtype is not kind):
        return False
    fits = target._ms_shape == ((x[0], *x[2:]) if len(x) > 1 else ())
    return fits and 0 not in x and kind.name in ("float32", "float16", "bfloat16")


def _by_one_kernel(kernel_: Kernel, input: TensorBase, target: TensorBase, weight: Any, ignore_index: int, reduction: str) -> TensorBase:
    """Compute the loss of device tensors by one kernel; the classes are checked only if their values are known on the host."""
    x = input._ms_shape
    classes = x[0] if len(x) == 1 else x[1]
    if readable(target) is not None:
        _classes(target, classes, ignore_index)
    rows = input if len(x) == 2 else views.reshape(input if len(x) == 1 else views.movedim(input, 1, -1), (-1, classes))
    chosen_ = target if len(target._ms_shape) == 1 and target._ms_dtype is int64 else views.reshape(to_dtype(target, int64), (-1,))
    found = call(kernel_, (rows,), chosen_, weight, ignore_index, reduction)[0]
    found = watch(no_view(views.reshape(found, target._ms_shape)) if reduction == "none" and len(x) != 2 else found, target)
    return found if len(x) < 3 or found._ms_node is None or reduction == "none" else call_node(found, "NllLoss2DBackward0")


def _without(losses: TensorBase, counted: Array) -> TensorBase:
    return where(beside(made(np.asarray(counted)), losses), losses, made(np.zeros((), losses._ms_dtype.np)))


@operation(autocast=FLOAT32, one_device=OneDevice("nll_loss_forward"))
def cross_entropy(
    input: TensorBase, target: TensorBase, weight: TensorBase | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> TensorBase:  # fmt: skip
    """Return the cross entropy of logits (N, C, *) or (C) and classes (N, *) or (), or class probabilities of the input's shape."""
    refuse_tracked(label_smoothing)
    reduction = chosen(reduction, size_average, reduce)
    x = input._ms_shape
    if target._ms_shape == x and not target._ms_dtype.is_integral:
        if target._ms_dtype.is_complex:
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {type_word(target._ms_dtype)}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _probabilities(input, target, weight, reduction, label_smoothing)
    if target._ms_shape == x:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {type_word(target._ms_dtype)}")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    _shapes(input, target)
    target = _as_classes(target)
    _check_weight(weight, len(x))
    whole = weight is None or weight._ms_shape == x[min(len(x), 2) - 1 :][:1]
    if label_smoothing == 0 and whole and _in_one_kernel(_cross_entropy_parts, input, target, weight):
        return _by_one_kernel(_cross_entropy_parts, input, target, weight, ignore_index, reduction)
    plain = len(x) == 2 and weight is None and label_smoothing == 0 and reduction == "mean" and input._ms_dtype is float32
    if plain and readable(target) is not None and target._ms_shape == x[:1] and 0 not in input._ms_shape:
        values, counted = _classes(target, x[1], ignore_index)
        if counted is None or counted.all():
            if in_one_piece((input,)):
                return _mean_of_logits(input, target, values)
            return watch(call(_cross_entropy, (input,), values.astype(np.int32)), target)
    axis = 0 if len(x) == 1 else 1
    logs = log_softmax(input, axis)
    loss = _nll_loss(logs, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    return _smoothed(logs, loss, target, weight, ignore_index, reduction, label_smoothing, axis)


def _smoothed(
    logs: TensorBase, loss: TensorBase, target: TensorBase, weight: TensorBase | None, ignore_index: int, reduction: str,
    smoothing: float, axis: int
) -> TensorBase:
    """Return the loss with label smoothing over all classes (https://arxiv.org/abs/1512.00567)."""
    x = logs._ms_shape
    classes = x[axis]
    wide = logs if weight is None else mul(logs, views.reshape(weight, _channel_shape(len(x), axis)))
    spread = neg(sum_of(wide, axis))
    spread, count = _counted_terms(spread, target, weight, ignore_index)
    if reduction != "none":
        spread = sum_of(spread)
    if reduction == "mean":
        spread = div(spread, count)
    return add(mul(loss, 1 - smoothing), mul(spread, smoothing / classes))


def _counted_terms(terms: TensorBase, target: TensorBase, weight: TensorBase | None, ignore_index: int) -> tuple[Any, Any]:
    """Return the losses with 0 for ignored targets, and the divisor of the mean: the sum of the weights of all targets that are not
    ignored."""
    values = readable(target)
    if values is None:
        counted, _, shares = _shares_in_graph(target, weight, ignore_index, terms._ms_dtype)
        return where(counted, terms, 0.0), sum_of(shares)
    known = values != ignore_index
    if weight is None:
        count = float(known.sum())
    else:
        count = float(array_of(weight).astype(np.float64)[values[known]].sum())
    return terms if known.all() else _without(terms, known), made(np.asarray(count, terms._ms_dtype.np))


def _channel_shape(rank: int, axis: int) -> tuple[int, ...]:
    return tuple(-1 if i == axis else 1 for i in range(rank))


def _probabilities(input: TensorBase, target: TensorBase, weight: TensorBase | None, reduction: str, smoothing: float) -> TensorBase:
    x = input._ms_shape
    axis = 0 if len(x) == 1 else 1
    if not 0 <= smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
    if weight is not None and weight._ms_shape != x[axis : axis + 1]:
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {x[axis]} classes or no classes but got weight tensor of "
            f"shape: {list(weight._ms_shape)}"
        )
    if smoothing > 0:
        target = add(mul(target, 1 - smoothing), smoothing / x[axis])
    logs = log_softmax(input, axis)
    terms = mul(logs, target)
    if weight is not None:
        terms = mul(terms, views.reshape(weight, _channel_shape(len(x), axis)))
    if reduction == "none":
        return neg(sum_of(terms, axis))
    total = neg(sum_of(terms))
    if reduction == "sum":
        return total
    count = math.prod(input._ms_shape) // x[axis] if x[axis] else 0
    return call_node(div(total, count), "DivBackward1")
