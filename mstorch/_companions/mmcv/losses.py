"""mmcv's focal losses (Lin et al. 2017): a weight of (1 - p) ** gamma for the logarithm of the target's probability."""
from __future__ import annotations

import mstorch as torch

from .derived import add_gradients

Tensor = torch.Tensor
_F = torch.nn.functional


def _weighted(loss: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    if not weight.numel():
        return loss
    own = weight.to(loss.dtype)[target.clamp(0, weight.shape[0] - 1)]
    return loss * (own if loss.dim() == 1 else own.unsqueeze(1))


def _of_sigmoid(input: Tensor, target: Tensor, weight: Tensor, gamma: float, alpha: float) -> Tensor:
    logits = input if input.dtype is torch.float64 else input.float()
    chance = torch.sigmoid(logits)
    own = target.unsqueeze(1) == torch.arange(logits.shape[1], device=logits.device)
    right = -alpha * (1 - chance) ** gamma * _F.logsigmoid(logits)
    wrong = (alpha - 1) * chance**gamma * _F.logsigmoid(-logits)
    return _weighted(torch.where(own, right, wrong), target, weight)


def sigmoid_focal_loss_forward(input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float) -> None:
    """Write the losses of logits (rows, classes); a target that is no class has none."""
    output.copy_(_of_sigmoid(input, target, weight, gamma, alpha))


def sigmoid_focal_loss_backward(input: Tensor, target: Tensor, weight: Tensor, grad_input: Tensor, gamma: float, alpha: float) -> None:
    """Write their slopes."""
    add_gradients(
        lambda logits: _of_sigmoid(logits, target, weight, gamma, alpha), (input,), torch.ones_like(input), (grad_input,)
    )


def _of_target(chances: Tensor, target: Tensor) -> Tensor:
    return chances.gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1)


def _of_softmax(chance: Tensor, target: Tensor, weight: Tensor, gamma: float, alpha: float) -> Tensor:
    loss = -alpha * (1 - chance) ** gamma * chance.clamp(min=torch.finfo(torch.float32).tiny).log()
    return _weighted(torch.where(target >= 0, loss, 0), target, weight)


def softmax_focal_loss_forward(input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float) -> None:
    """Write the losses of probabilities (rows, classes)."""
    chance = _of_target(input if input.dtype is torch.float64 else input.float(), target)
    output.copy_(_of_softmax(chance, target, weight, gamma, alpha))


def softmax_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, buff: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Write their slopes with respect to the logits of the softmax; ``buff`` gets those of the target's logit without its probability."""
    chances = input if input.dtype is torch.float64 else input.float()
    chance = _of_target(chances, target)
    slope = torch.zeros_like(chance)
    add_gradients(lambda own: _of_softmax(own, target, weight, gamma, alpha), (chance,), torch.ones_like(chance), (slope,))
    slope = slope * chance
    buff.copy_(slope)
    own = (target.unsqueeze(1) == torch.arange(chances.shape[1], device=chances.device)).to(chances.dtype)
    grad_input.copy_(slope.unsqueeze(1) * (own - chances))


__all__ = [
    "sigmoid_focal_loss_backward", "sigmoid_focal_loss_forward", "softmax_focal_loss_backward", "softmax_focal_loss_forward",
]  # fmt: skip
