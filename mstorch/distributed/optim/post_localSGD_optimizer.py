"""Optimizer of post-local SGD: each rank steps locally, and parameters are averaged periodically (https://arxiv.org/abs/1808.07217)."""
from __future__ import annotations

from typing import Any

from ..._src.core.warned import warn
from ...optim import Optimizer
from ..algorithms.model_averaging.averagers import ModelAverager


class PostLocalSGDOptimizer(Optimizer):
    """Runs a local optimizer's step, then a model averager's."""

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:
        """The local optimizer's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state dict with the averager's step added."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state dict; if it has no step, warn and restart the averager."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0."
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:
        """Run one optimizer step, then one step of the model averager."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a param group to the optimizer."""
        self.optim.add_param_group(param_group)


__all__ = ["PostLocalSGDOptimizer"]
