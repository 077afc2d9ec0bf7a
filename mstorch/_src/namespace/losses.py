"""Losses of the torch namespace, whose reduction is a number: 0 for none, 1 for the mean, 2 for the sum.

The default is none, as torch's binding reads it, contrary to the schema.
"""
from __future__ import annotations

from ..._tensor import Tensor
from ..core.one_device import OneDevice, found_two
from ..ops._operation import operation
from ..ops.losses import ctc, loss, loss_margin

_WORDS = {1: "mean", 2: "sum"}


def _word(name: str, position: int, reduction: int) -> str:
    if not isinstance(reduction, int):
        raise TypeError(f"{name}(): argument 'reduction' (position {position}) must be int, not {type(reduction).__name__}")
    return _WORDS.get(reduction, "none")


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """Return the elementwise Kullback-Leibler divergence of ``target`` from the log-probabilities ``input``."""
    return loss.kl_div(input, target, reduction=_word("kl_div", 3, reduction), log_target=log_target)


@operation(one_device=OneDevice(words=found_two, numbers=("input",)))
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """Return the binary cross entropy of the sigmoid of ``input``."""
    word = _word("binary_cross_entropy_with_logits", 5, reduction)
    return loss.binary_cross_entropy_with_logits(input, target, weight, reduction=word, pos_weight=pos_weight)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """Return the negative log-likelihood of a Poisson distribution."""
    word = _word("poisson_nll_loss", 6, reduction)
    return loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=word)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """Return ``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    return loss_margin.hinge_embedding_loss(input, target, margin, reduction=_word("hinge_embedding_loss", 4, reduction))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """Return ``max(0, -target * (input1 - input2) + margin)``."""
    word = _word("margin_ranking_loss", 5, reduction)
    return loss_margin.margin_ranking_loss(input1, input2, target, margin, reduction=word)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """Return ``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    word = _word("cosine_embedding_loss", 5, reduction)
    return loss_margin.cosine_embedding_loss(input1, input2, target, margin, reduction=word)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False,
    reduction: int = 0,
) -> Tensor:  # fmt: skip
    """Return ``max(0, |anchor - positive| - |anchor - negative| + margin)``."""
    word = _word("triplet_margin_loss", 8, reduction)
    return loss_margin.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=word)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Return the connectionist temporal classification loss."""
    word = _word("ctc_loss", 6, reduction)
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, word, zero_infinity)
