"""apex.parallel.LARC: rates of each parameter (You et al., "Large batch training of convolutional networks"), around an optimizer."""

from __future__ import annotations

from typing import Any

import mstorch as torch


class LARC:
    """An optimizer whose rate for each parameter follows the ratio of the parameter's norm and its gradient's.

    The ratio times ``trust_coefficient`` is the rate; with ``clip`` it is the rate only where it is below the optimizer's.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, trust_coefficient: float = 0.02, clip: bool = True, eps: float = 1e-8
    ) -> None:
        self.optim = optimizer
        self.trust_coefficient = trust_coefficient
        self.clip = clip
        self.eps = eps

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The optimizer's groups."""
        return self.optim.param_groups

    @property
    def state(self) -> Any:
        """The optimizer's state."""
        return self.optim.state

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state."""
        return self.optim.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the optimizer's state."""
        self.optim.load_state_dict(state_dict)

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Remove the gradients."""
        self.optim.zero_grad(*args, **kwargs)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group to the optimizer."""
        self.optim.add_param_group(param_group)

    def step(self) -> None:
        """Scale the gradients and take the optimizer's step. The weight decay is part of the scaled gradients."""
        decays = [group.get("weight_decay", 0) for group in self.optim.param_groups]
        try:
            with torch.no_grad():
                for group, decay in zip(self.optim.param_groups, decays):
                    group["weight_decay"] = 0
                    self._scale(group, decay)
            self.optim.step()
        finally:
            for group, decay in zip(self.optim.param_groups, decays):
                group["weight_decay"] = decay

    def _scale(self, group: dict[str, Any], decay: float) -> None:
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            size, slope = parameter.norm(), parameter.grad.norm()
            rate = self.trust_coefficient * size / (slope + size * decay + self.eps)
            if self.clip:
                rate = (rate / group["lr"]).clamp(max=1)
            scaled = (parameter.grad + decay * parameter) * rate
            parameter.grad.copy_(torch.where((size != 0) & (slope != 0), scaled, parameter.grad))


__all__ = ["LARC"]
