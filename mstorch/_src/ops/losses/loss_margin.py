"""Margin and similarity losses."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.arrays import within
from ...backend.errors import not_for
from ...core.dtype import float32, float64, int64
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase
from .._autocast import FLOAT32
from .._dispatch import readable
from .._named import node_called
from .._numbers import not_differentiable, refuse_tracked
from .._one_dtype import expect_dtype
from .._operation import operation
from ..elementwise.compare import clamp_min, eq, gt, le, logical_and, logical_not, lt, minimum, ne, where
from ..elementwise.elementwise import add, div, mul, neg, rsqrt, square, sub
from ..indexing.index import gather, index_select
from ..layers.distance import pairwise_distance
from ..memory.copying import to_dtype
from ..memory.creation import arange
from ..reduce.reduce import any as any_of
from ..reduce.reduce import sum as sum_of
from ..reduce.scan import cumsum
from ..shape import views
from .loss import size_text
from .loss_reduction import chosen, reduced

PUBLIC_IN = "nn.functional"


@operation(autocast=FLOAT32)
def hinge_embedding_loss(
    input: TensorBase, target: TensorBase, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``x`` where the target is 1, ``max(0, margin - x)`` where it is -1, reduced."""
    refuse_tracked(margin)
    reduction = chosen(reduction, size_average, reduce)
    if input._ms_dtype.is_integral:
        margin = int(margin)  # torch subtracts from a margin of the input's dtype
    far = where(target != 1, clamp_min(sub(margin, input), 0), 0)
    near = where(target != -1, input, 0)
    return reduced(add(far, near), reduction)


@operation(autocast=FLOAT32)
def margin_ranking_loss(
    input1: TensorBase, input2: TensorBase, target: TensorBase, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``max(0, -target * (input1 - input2) + margin)``, reduced."""
    refuse_tracked(margin)
    reduction = chosen(reduction, size_average, reduce)
    if not len(input1._ms_shape) == len(input2._ms_shape) == len(target._ms_shape):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{size_text(input1)}, input2: {size_text(input2)}, target: {size_text(target)} "
        )
    return reduced(clamp_min(add(mul(neg(target), sub(input1, input2)), margin), 0), reduction)


@operation(autocast=FLOAT32)
def cosine_embedding_loss(
    input1: TensorBase, input2: TensorBase, target: TensorBase, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1, reduced."""
    refuse_tracked(margin)
    reduction = chosen(reduction, size_average, reduce)
    rank = len(target._ms_shape)
    if rank not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(input1._ms_shape) != rank + 1 or len(input2._ms_shape) != rank + 1:
        words = "1D target tensor expects 2D input tensors" if rank else "0D target tensor expects 1D input tensors"
        raise RuntimeError(
            f"{words}, but found inputs with sizes {list(input1._ms_shape)} and {list(input2._ms_shape)}."
        )
    dim = rank
    product = sum_of(mul(input1, input2), dim)
    first, second = (add(sum_of(square(x), dim), 1e-12) for x in (input1, input2))
    cosine = mul(product, rsqrt(mul(first, second)))
    near = where(target == 1, sub(1, cosine), 0.0)
    far = where(target == -1, clamp_min(sub(cosine, margin), 0), 0.0)
    return reduced(add(near, far), reduction)


@operation(autocast=FLOAT32)
def triplet_margin_loss(
    anchor: TensorBase, positive: TensorBase, negative: TensorBase, margin: float = 1.0, p: float = 2, eps: float = 1e-06,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``max(0, |anchor - positive| - |anchor - negative| + margin)``, reduced; ``swap`` uses the smaller of two negative distances.
    """
    refuse_tracked(margin, eps)
    reduction = chosen(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [len(x._ms_shape) for x in (anchor, positive, negative)]
    if len(set(ranks)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    return _triplet(
        anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction
    )


def _triplet(
    anchor: TensorBase, positive: TensorBase, negative: TensorBase, distance: Callable[[Any, Any], Any], margin: float, swap: bool,
    reduction: str
) -> TensorBase:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clamp_min(add(sub(near, far), margin), 0), reduction)


def triplet_margin_with_distance_loss(
    anchor: TensorBase, positive: TensorBase, negative: TensorBase, *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return the triplet loss with a user-defined distance function."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [len(x._ms_shape) for x in (anchor, positive, negative)]
    if len(set(ranks)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


@operation(autocast=FLOAT32, one_device=OneDevice("_multi_margin_loss"))
@node_called("MultiMarginLossBackward0", "input target weight")
def multi_margin_loss(
    input: TensorBase, target: TensorBase, p: int = 1, margin: float = 1.0, weight: TensorBase | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``max(0, margin - x[target] + x[j]) ** p`` summed over the other classes j and divided by the number of classes."""
    refuse_tracked(margin)
    reduction = chosen(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight._ms_shape) != 1:
        raise ValueError("weight must be one-dimensional")
    shape = input._ms_shape
    if len(shape) > 2 or (len(shape) == 2 and shape[1] == 0) or shape == (0,):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: " + str(list(shape))
        )
    rows = views.reshape(input, (-1, shape[-1] if shape else 1))
    n, classes = rows._ms_shape
    if math.prod(target._ms_shape) != n or len(target._ms_shape) > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected "
            f"target size [{n}], but got {list(target._ms_shape)}. Input has shape {list(shape)}."
        )
    not_differentiable("multi_margin_loss", weight=weight)
    if weight is not None and weight._ms_shape != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight._ms_shape)}")
    expect_dtype(int64, target)
    if math.prod(input._ms_shape) and input._ms_dtype not in (float32, float64):
        raise not_for("multi_margin_loss_cpu_kernel", input._ms_dtype.name)
    expect_dtype(input._ms_dtype, weight)
    chosen_classes = readable(target)
    if chosen_classes is not None and n and not within(chosen_classes, 0, classes - 1):
        raise RuntimeError("target out of range")
    column = to_dtype(views.reshape(target, (n, 1)), int64)
    loss = sub(add(rows, margin), gather(rows, 1, column))
    # Classes outside the margin do not count, whatever their scores and weights are; neither does NaN.
    counted = logical_and(ne(column, arange(classes, device=column.device)), gt(loss, 0))
    loss = where(counted, loss, 0.0)
    if p == 2:
        loss = square(loss)
    if weight is not None:
        loss = mul(loss, where(counted, views.unsqueeze(index_select(weight, 0, views.reshape(column, (n,))), 1), 0.0))
    loss = div(sum_of(loss, 1), classes)
    return reduced(views.reshape(loss, target._ms_shape) if len(shape) < 2 else loss, reduction)


@operation(autocast=FLOAT32, one_device=OneDevice("_multilabel_margin_loss_forward"))
@node_called("MultilabelMarginLossBackward0", "input target")
def multilabel_margin_loss(
    input: TensorBase, target: TensorBase, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> TensorBase:
    """Return ``max(0, 1 - (x[i] - x[j]))`` summed over targets i (up to the first -1) and other classes j, divided by the number of
    classes.
    """
    reduction = chosen(reduction, size_average, reduce)
    shape = input._ms_shape
    if len(shape) > 2 or (shape and shape[-1] == 0):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: " + str(list(shape))
        )
    if target._ms_shape != shape and not (len(shape) < 2 and math.prod(target._ms_shape) == math.prod(input._ms_shape)):
        raise RuntimeError(f"inconsistent target size: {list(target._ms_shape)} for input of size: {list(shape)}")
    if math.prod(input._ms_shape):
        if input._ms_dtype not in (float32, float64):
            raise not_for("multilabel_margin_loss_forward_out_frame", input._ms_dtype.name)
        expect_dtype(int64, target)
    rows = views.reshape(input, (-1, shape[-1] if shape else 1))
    n, classes = rows._ms_shape
    found = readable(target)
    if found is not None and not within(found, -1, classes - 1):
        raise RuntimeError("target out of range")
    labels = views.reshape(to_dtype(target, int64), (n, classes))
    # The targets of a row end before the first negative entry; a class that occurs twice counts twice.
    named = le(cumsum(to_dtype(lt(labels, 0), int64), 1), 0)
    labels = where(named, labels, 0)
    hot = logical_and(eq(views.unsqueeze(labels, 2), arange(classes, device=labels.device)), views.unsqueeze(named, 2))
    counted = logical_and(views.unsqueeze(named, 2), views.unsqueeze(logical_not(any_of(hot, 1)), 1))
    hinge = add(sub(views.unsqueeze(rows, 1), views.unsqueeze(gather(rows, 1, labels), 2)), 1)
    loss = div(sum_of(where(logical_and(counted, gt(hinge, 0)), hinge, 0.0), (1, 2)), classes)
    return reduced(views.reshape(loss, ()) if len(shape) < 2 else loss, reduction)
