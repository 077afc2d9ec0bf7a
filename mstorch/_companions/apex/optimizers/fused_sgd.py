"""apex.optimizers.fused_sgd: SGD with momentum."""

from __future__ import annotations

from typing import Any

import mstorch as torch

from .stepping import Fused


class FusedSGD(Fused):
    """SGD with momentum, as torch.optim.SGD; with ``wd_after_momentum`` the weight decay has no momentum."""

    def __init__(
        self, params: Any, lr: float, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False,
        wd_after_momentum: bool = False, materialize_master_grads: bool = True, set_grad_none: bool = False,
    ) -> None:  # fmt: skip
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
        }
        super().__init__(params, defaults, set_grad_none)
        self.wd_after_momentum = wd_after_momentum

    def _step(self) -> None:
        for group, lists in self._groups():
            decay, momentum, updates = group["weight_decay"], group["momentum"], lists.slopes
            if decay and not self.wd_after_momentum:
                torch._foreach_add_(updates, lists.values, alpha=decay)
            if momentum:
                fresh = ["momentum_buffer" not in self.state[parameter] for parameter in lists.parameters]
                buffers = self._states(lists, "momentum_buffer")
                torch._foreach_mul_(buffers, momentum)
                # The first gradient enters whole, as in torch.
                weights = [1.0 if first else 1 - group["dampening"] for first in fresh]
                torch._foreach_add_(buffers, list(torch._foreach_mul(updates, weights)))
                updates = (
                    list(torch._foreach_add(updates, buffers, alpha=momentum))
                    if group["nesterov"]
                    else list(torch._foreach_add(buffers, 0.0))
                )
            if decay and self.wd_after_momentum:
                torch._foreach_add_(updates, lists.values, alpha=decay)
            self._write(lists, updates, group["lr"])


__all__ = ["FusedSGD"]
