"""Schedulers with one formula for all epochs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable

from ..._tensor import Tensor
from ..optimizer import Optimizer
from .base import LRScheduler, _LambdaScheduler, _warn_get_lr_called_within_step

Rates = list[float | Tensor]


class LambdaLR(_LambdaScheduler):
    """The initial learning rate times ``lr_lambda(epoch)``, one function for all groups or a list."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_LambdaScheduler):
    """Multiplies the learning rate by ``lr_lambda(epoch)`` each epoch, one function for all groups or a list."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def _check_lambdas(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self._is_initial:
            return self._mstorch_current()
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups, strict=True)]


class StepLR(LRScheduler):
    """Multiplies the learning rate by ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._mstorch_current()
        return self._mstorch_times(self.gamma)

    def _get_closed_form_lr(self) -> Rates:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the learning rate by ``gamma`` at each epoch in ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self.last_epoch not in self.milestones:
            return self._mstorch_current()
        return self._mstorch_times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> Rates:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the learning rate by ``factor`` until epoch ``total_iters``. Raises ValueError for a factor outside [0, 1]."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self.last_epoch == 0:
            return self._mstorch_times(self.factor)
        if self.last_epoch != self.total_iters:
            return self._mstorch_current()
        return self._mstorch_times(1.0 / self.factor)

    def _get_closed_form_lr(self) -> Rates:
        over = self.last_epoch >= self.total_iters
        return [base * (self.factor + over * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiplies the learning rate by a factor that changes linearly from ``start_factor`` to ``end_factor`` over ``total_iters`` epochs.

    Raises ValueError for factors outside (0, 1] and [0, 1].
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self.last_epoch == 0:
            return self._mstorch_times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._mstorch_current()
        rise = self.end_factor - self.start_factor
        return self._mstorch_times(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self) -> Rates:
        rise = self.end_factor - self.start_factor
        done = min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + rise * done / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the learning rate by ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        return self._mstorch_current() if self._is_initial else self._mstorch_times(self.gamma)

    def _get_closed_form_lr(self) -> Rates:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Decays the learning rate to zero over ``total_iters`` epochs, as (1 - epoch / total_iters) ** ``power``."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._mstorch_current()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._mstorch_times((now / before) ** self.power)

    def _get_closed_form_lr(self) -> Rates:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Anneals by half a cosine from the initial learning rate to ``eta_min`` over ``T_max`` epochs, and up again after that.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", arXiv:1608.03983, without restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        if self._is_initial:
            return self._mstorch_current()
        groups = self.optimizer.param_groups
        low = self.eta_min
        if self._step_count == 1 and self.last_epoch > 0:
            height = 1 + math.cos(self.last_epoch * math.pi / self.T_max)
            return [low + (base - low) * height / 2 for base in self.base_lrs]
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The last rate was `low`, where the divisor of the ratio below is 0.
            height = 1 - math.cos(math.pi / self.T_max)
            return [group["lr"] + (base - low) * height / 2 for base, group in zip(self.base_lrs, groups, strict=True)]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> Rates:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]
