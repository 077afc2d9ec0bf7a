"""apex.optimizers.fused_lamb: LAMB (You et al., "Large batch optimization for deep learning: training BERT in 76 minutes")."""

from __future__ import annotations

from typing import Any

import mstorch as torch

from .stepping import Fused, corrections, direction, moments


class FusedLAMB(Fused):
    """LAMB: Adam's direction, with a rate of each parameter by the ratio of its norm and the direction's.

    Gradients are divided by their norm over all groups where it exceeds ``max_grad_norm``. The ratio applies to groups with weight decay,
    and to all groups with ``use_nvlamb``.
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6,
        weight_decay: float = 0.01, amsgrad: bool = False, adam_w_mode: bool = True, grad_averaging: bool = True,
        set_grad_none: bool = True, max_grad_norm: float = 1.0, use_nvlamb: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedLAMB does not support the AMSGrad variant.")
        defaults = {
            "lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "grad_averaging": grad_averaging, "max_grad_norm": max_grad_norm,
        }  # fmt: skip
        super().__init__(params, defaults, set_grad_none)
        self.adam_w_mode = 1 if adam_w_mode else 0
        self.use_nvlamb = use_nvlamb

    def _step(self) -> None:
        groups = list(self._groups())
        if not groups:
            return
        norms = [norm for _, lists in groups for norm in torch._foreach_norm(lists.slopes)]
        whole = torch.stack([norm.to(norms[0].device, norms[0].dtype) for norm in norms]).norm()
        limit = self.defaults["max_grad_norm"]
        for group, lists in groups:
            step, decay = self._stepped(group), group["weight_decay"]
            if limit:
                torch._foreach_div_(lists.slopes, (whole / limit).clamp(min=1.0))
            if decay and not self.adam_w_mode:
                torch._foreach_add_(lists.slopes, lists.values, alpha=decay)
            averages, squares = self._states(lists, "exp_avg"), self._states(lists, "exp_avg_sq")
            moments(
                averages,
                squares,
                lists.slopes,
                group["betas"],
                1 - group["betas"][0] if group["grad_averaging"] else 1.0,
            )
            updates = direction(averages, squares, corrections(group, step), group["eps"])
            if decay and self.adam_w_mode:
                torch._foreach_add_(updates, lists.values, alpha=decay)
            if decay or self.use_nvlamb:
                pairs = zip(torch._foreach_norm(lists.values), torch._foreach_norm(updates))
                torch._foreach_mul_(
                    updates, [torch.where((size > 0) & (length > 0), size / length, 1.0) for size, length in pairs]
                )
            self._write(lists, updates, group["lr"])


__all__ = ["FusedLAMB"]
