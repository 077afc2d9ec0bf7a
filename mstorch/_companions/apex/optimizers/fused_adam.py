"""apex.optimizers.fused_adam: Adam and AdamW."""

from __future__ import annotations

from typing import Any

import mstorch as torch

from .stepping import Fused, corrections, direction, moments


class FusedAdam(Fused):
    """Adam with decoupled weight decay (AdamW), or with L2 regularization (``adam_w_mode=False``)."""

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        adam_w_mode: bool = True, weight_decay: float = 0.0, amsgrad: bool = False, set_grad_none: bool = True, capturable: bool = False,
        master_weights: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedAdam does not support the AMSGrad variant.")
        if master_weights:
            raise NotImplementedError(
                "mstorch: FusedAdam with master_weights is not here; write apex.amp.initialize with opt_level='O2'"
            )
        super().__init__(
            params,
            {"lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps, "weight_decay": weight_decay},
            set_grad_none,
        )
        self.adam_w_mode = 1 if adam_w_mode else 0

    def _step(self) -> None:
        for group, lists in self._groups():
            step, decay = self._stepped(group), group["weight_decay"]
            if decay and not self.adam_w_mode:
                torch._foreach_add_(lists.slopes, lists.values, alpha=decay)
            averages, squares = self._states(lists, "exp_avg"), self._states(lists, "exp_avg_sq")
            moments(averages, squares, lists.slopes, group["betas"], 1 - group["betas"][0])
            updates = direction(averages, squares, corrections(group, step), group["eps"])
            if decay and self.adam_w_mode:
                torch._foreach_add_(updates, lists.values, alpha=decay)
            self._write(lists, updates, group["lr"])


__all__ = ["FusedAdam"]
