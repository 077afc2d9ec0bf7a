"""Loss functions, decomposed as torch does."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..core.tensor_base import TensorBase
from ..ops.memory.from_data import made
from .composites import COMPOSITES, aten, composite

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_code(size_average: bool | None, reduce: Any, reduction: str) -> int:
    if size_average is not None or reduce is not None:
        if reduce is False:
            return 0
        return 2 if size_average is False else 1
    return REDUCTIONS[reduction]


@composite("nll_loss")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the negative log-likelihood loss."""
    return _likelihood(input, target, weight, reduction_code(size_average, reduce, reduction), ignore_index)


def _likelihood(input: Tensor, target: Tensor, weight: Tensor | None, code: int, ignored: int) -> Tensor:
    rank, shape = input.dim(), tuple(target.shape)
    if rank < 3:
        return aten("nll_loss_forward", input, target, weight, code, ignored)[0]
    if rank != 4:
        input, target = input.view(*input.shape[:2], 1, -1), target.view(shape[0], 1, -1)
    found = aten("nll_loss2d_forward", input, target, weight, code, ignored)[0]
    return found if code or rank == 4 else found.view(shape)


@composite("cross_entropy", "cross_entropy_loss")
def _cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    code = reduction_code(size_average, reduce, reduction)
    axis = 1 if input.dim() > 1 else 0
    logs = aten("_log_softmax", input, axis, False)
    if target.dtype.is_floating_point and tuple(target.shape) == tuple(input.shape):
        return _of_probabilities(logs, target, weight, code, label_smoothing, axis)
    found = _likelihood(logs, target, weight, code, ignore_index)
    if not label_smoothing:
        return found
    shape = [1, *[-1 if dim == axis else 1 for dim in range(1, input.dim())]]
    spread = aten("neg", (logs if weight is None else logs * weight.view(shape if axis else [-1])).sum(axis))
    hidden = aten("eq.Scalar", target, ignore_index)
    spread = aten("masked_fill_.Scalar", spread, hidden, 0.0)
    if code == 2:
        spread = spread.sum()
    elif code == 1:
        kept = aten("bitwise_not", hidden)
        count = kept.sum() if weight is None else weight.gather(0, (target * kept).flatten()).view(target.shape).mul(kept).sum()
        spread = spread.sum() / count
    share = label_smoothing / input.shape[axis]
    return aten("add.Tensor", aten("mul.Scalar", found, 1 - label_smoothing), aten("mul.Scalar", spread, share))


def _of_probabilities(logs: Tensor, target: Tensor, weight: Tensor | None, code: int, smoothing: float, axis: int) -> Tensor:
    if smoothing:
        share = smoothing / logs.shape[axis]
        target = aten("add.Tensor", aten("mul.Tensor", target, 1 - smoothing), share)
    found = logs * target
    if weight is not None:
        found = found * weight.view([-1 if dim == axis else 1 for dim in range(logs.dim())])
    if not code:
        return aten("neg", found.sum(axis))
    return aten("neg", found.sum()) if code == 2 else aten("div.Scalar", aten("neg", found.sum()), logs.numel() // logs.shape[axis])


@composite("multi_margin_loss")
def _multi_margin_loss(
    input: Tensor, target: Tensor, p: float = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    return aten("multi_margin_loss", input, target, p, margin, weight, reduction_code(size_average, reduce, reduction))


@composite("multilabel_margin_loss")
def _multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    return aten("multilabel_margin_loss_forward", input, target, reduction_code(size_average, reduce, reduction))[0]


@composite("ctc_loss")
def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | tuple[int, ...], target_lengths: Any, blank: int = 0,
    reduction: str | int = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    code = reduction if isinstance(reduction, int) else REDUCTIONS[reduction]
    of_tensors = isinstance(input_lengths, TensorBase)
    lengths = (input_lengths, target_lengths) if of_tensors else (list(input_lengths), list(target_lengths))
    found = aten("_ctc_loss.Tensor" if of_tensors else "_ctc_loss", log_probs, targets, *lengths, blank, zero_infinity)[0]
    if zero_infinity:
        low = aten("scalar_tensor", 0.0, dtype=found.dtype, device=found.device)
        found = aten("where.self", aten("eq.Scalar", found, math.inf), low, found)
    if code != 1:
        return found.sum() if code else found
    counts = target_lengths if of_tensors else aten("lift_fresh", made(np.asarray(target_lengths)))
    return (found / aten("clamp_min", counts.to(found.dtype), 1)).mean()


def _loss(name: str, *names: str) -> None:
    def function(
        input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", *args: Any, **kwargs: Any
    ) -> Any:
        if isinstance(size_average, str):
            size_average, reduction = None, size_average
        if any(value is not None for value in kwargs.values() if not isinstance(value, float)) or args and args[0] is not None:
            return NotImplemented
        code = reduction_code(size_average, reduce, reduction)
        if tuple(input.shape) != tuple(target.shape):
            return NotImplemented
        return aten(name, input, target, code)

    for public in (name, *names):
        COMPOSITES[public] = function


_loss("mse_loss")


@composite("smooth_l1_loss")
def _smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    code = reduction_code(size_average, reduce, reduction)
    if beta == 0.0:
        return _l1_loss(input, target, reduction=reduction)
    return aten("smooth_l1_loss", input, target, code, beta)


@composite("l1_loss")
def _l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: Any = None, reduction: str = "mean",
    weight: Tensor | None = None
) -> Tensor:
    if weight is not None:
        return NotImplemented
    code = reduction_code(size_average, reduce, reduction)
    parts = aten("abs", aten("sub.Tensor", input, target))
    return parts if code == 0 else aten("mean", parts) if code == 1 else aten("sum", parts)


@composite("binary_cross_entropy_with_logits")
def _logits_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Tensor:  # fmt: skip
    if isinstance(reduction, int):
        return NotImplemented
    return aten("binary_cross_entropy_with_logits", input, target, weight, pos_weight, reduction_code(size_average, reduce, reduction))


@composite("huber_loss")
def _huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    if weight is not None or tuple(input.shape) != tuple(target.shape):
        return NotImplemented
    return aten("huber_loss", input, target, reduction_code(None, None, reduction), delta)


@composite("binary_cross_entropy")
def _binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: Any = None,
    reduction: str = "mean"
) -> Tensor:
    return aten("binary_cross_entropy", input, target, weight, reduction_code(size_average, reduce, reduction))


@composite("soft_margin_loss")
def _soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    return aten("soft_margin_loss", input, target, reduction_code(size_average, reduce, reduction))


@composite("multilabel_soft_margin_loss")
def _multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: Any = None,
    reduction: str = "mean"
) -> Tensor:
    losses = -(target * aten("log_sigmoid_forward", input)[0] + (1 - target) * aten("log_sigmoid_forward", -input)[0])
    losses = (losses if weight is None else losses * weight).sum(-1) / input.shape[-1]
    code = reduction_code(size_average, reduce, reduction)
    return losses if code == 0 else losses.mean() if code == 1 else losses.sum()
