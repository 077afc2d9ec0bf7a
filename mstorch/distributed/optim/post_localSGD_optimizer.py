"""An optimiser of each process's own, whose parameters become their mean from time to time (https://arxiv.org/abs/1808.07217)."""
from __future__ import annotations

from typing import Any

from ..._core.warned import warn
from ...optim import Optimizer
from ..algorithms.model_averaging.averagers import ModelAverager


class PostLocalSGDOptimizer(Optimizer):
    """An optimiser whose steps are followed by an averager's."""

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimiser's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state, and the averager's step."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state; without a step, the averager begins anew, with a warning."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0."
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:  # type: ignore[override]
        """A step of the optimiser, and one of the averager."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Let the gradients go."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Give the optimiser another group."""
        self.optim.add_param_group(param_group)


__all__ = ["PostLocalSGDOptimizer"]
