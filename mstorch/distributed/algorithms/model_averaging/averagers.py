"""Averagers, which average the parameters over the ranks in some of the steps."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...._src.core.warned import warn
from ..._group import ProcessGroup
from ..._world import chosen
from . import utils


class ModelAverager(ABC):
    """Base of averagers of parameters over a group; ``step`` counts the calls."""

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = chosen(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Count a step, and average the parameters in the steps that the subclass selects."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every ``period`` steps, from step ``warmup_steps`` on. Raises ValueError for a period below 1 and for a negative
    ``warmup_steps``."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing parameters will be no "
                "less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.",
            )
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params: Iterable[Any] | Iterable[dict[str, Any]]) -> None:
        """Count a step. In every ``period``-th step, replace the parameters (given directly or as an optimizer's groups) by their mean over
        the ranks."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


__all__ = ["ModelAverager", "PeriodicModelAverager"]
