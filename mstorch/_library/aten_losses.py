"""Losses and their gradients under their ATen names."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import nn
from .._src.ops.memory import creation
from .._tensor import Tensor

F = nn.functional
REDUCTIONS = ("none", "mean", "sum")


def binary_cross_entropy(self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    """Return the binary cross entropy of probabilities."""
    return F.binary_cross_entropy(self, target, weight, reduction=REDUCTIONS[reduction])


def multi_margin_loss(
    self: Tensor, target: Tensor, p: int = 1, margin: float = 1, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """Return the multi-class margin loss."""
    return F.multi_margin_loss(self, target, p, margin, weight, reduction=REDUCTIONS[reduction])


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Return the soft margin loss ``log(1 + exp(-target * x))``."""
    return F.soft_margin_loss(self, target, reduction=REDUCTIONS[reduction])


def _masked_count(target: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    kept = target.ne(ignore_index)
    if weight is None:
        return kept.sum()
    return (weight[target.where(kept, 0)] * kept).sum()


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Return the loss, and the total weight that it was divided by."""
    loss = F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction])
    count = _masked_count(target, weight, ignore_index) if reduction == 1 or reduction == 2 else creation.zeros((), device=self.device)
    return loss, count.to(self.dtype)


nll_loss2d_forward = nll_loss_forward


def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Return the mean absolute error."""
    return F.l1_loss(self, target, reduction=REDUCTIONS[reduction])


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Return the multi-label margin loss."""
    return F.multilabel_margin_loss(self, target, reduction=REDUCTIONS[reduction])


def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Return the mean squared error."""
    return F.mse_loss(self, target, reduction=REDUCTIONS[reduction])


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    """Return the smooth L1 loss."""
    return F.smooth_l1_loss(self, target, reduction=REDUCTIONS[reduction], beta=beta)


def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Any = None, reduction: int = 1
) -> Tensor:
    """Return the binary cross entropy of logits."""
    named = REDUCTIONS[reduction]
    return F.binary_cross_entropy_with_logits(self, target, weight, pos_weight=pos_weight, reduction=named)


def huber_loss(self: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    """Return the Huber loss: quadratic up to ``delta``, linear beyond."""
    return F.huber_loss(self, target, reduction=REDUCTIONS[reduction], delta=delta)


def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """Return the loss, and a mask that is 1 for the target classes before the first -1."""
    named = (target < 0).long().cumsum(-1) == 0
    marks = creation.zeros(tuple(self.shape), dtype=self.dtype, device=self.device)
    marks = marks.scatter_add(-1, target.clamp_min(0), named.to(self.dtype)).clamp_max(1)
    return F.multilabel_margin_loss(self, target, reduction=REDUCTIONS[reduction]), marks


def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int], blank: int = 0,
    zero_infinity: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the loss of each sequence, and an empty tensor in place of the intermediate values that torch's kernel saves."""
    found = F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, "none", zero_infinity)
    return found, creation.empty(0, dtype=log_probs.dtype, device=log_probs.device)
