"""apex.optimizers.fused_novograd: NovoGrad (Ginsburg et al., "Stochastic gradient methods with layer-wise adaptive moments")."""

from __future__ import annotations

from typing import Any

import mstorch as torch

from .stepping import Fused, corrections


class FusedNovoGrad(Fused):
    """NovoGrad: momentum of gradients that are divided by a moving norm of each parameter's gradient.

    The norm is of ``norm_type`` 2, or 0 for the largest absolute value; it begins with the first gradient's, or with zero (``init_zero``).
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, reg_inside_moment: bool = False, grad_averaging: bool = True, norm_type: int = 2,
        init_zero: bool = False, set_grad_none: bool = True,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedNovoGrad does not support the AMSGrad variant.")
        if norm_type not in (0, 2):
            raise RuntimeError("FusedNovoGrad only support l2/inf norm now.")
        defaults = {
            "lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "grad_averaging": grad_averaging, "norm_type": norm_type, "init_zero": init_zero,
        }  # fmt: skip
        super().__init__(params, defaults, set_grad_none)
        self.moment_mode = 0 if reg_inside_moment else 1

    def _norms(self, group: dict[str, Any], lists: Any) -> list[torch.Tensor]:
        """Update and return the moving norms of gradients."""
        beta, squared = group["betas"][1], group["norm_type"] == 2
        norms = torch._foreach_norm(lists.slopes, 2 if squared else float("inf"))
        for parameter, norm in zip(lists.parameters, norms):
            state = self.state[parameter]
            before = state.get("exp_avg_sq", torch.zeros_like(norm) if group["init_zero"] else norm)
            state["exp_avg_sq"] = (
                (beta * before**2 + (1 - beta) * norm**2).sqrt() if squared else beta * before + (1 - beta) * norm
            )
        return [self.state[parameter]["exp_avg_sq"] for parameter in lists.parameters]

    def _step(self) -> None:
        for group, lists in self._groups():
            step, decay = self._stepped(group), group["weight_decay"]
            first, second = corrections(group, step)
            divisors = [norm / second**0.5 + group["eps"] for norm in self._norms(group, lists)]
            averages = self._states(lists, "exp_avg")
            if self.moment_mode == 0:
                torch._foreach_div_(lists.slopes, divisors)
                torch._foreach_add_(lists.slopes, lists.values, alpha=decay)
            torch._foreach_mul_(averages, group["betas"][0])
            torch._foreach_add_(averages, lists.slopes, alpha=1 - group["betas"][0] if group["grad_averaging"] else 1.0)
            updates = list(torch._foreach_div(averages, first))
            if self.moment_mode == 1:
                torch._foreach_div_(updates, divisors)
                torch._foreach_add_(updates, lists.values, alpha=decay)
            self._write(lists, updates, group["lr"])


__all__ = ["FusedNovoGrad"]
