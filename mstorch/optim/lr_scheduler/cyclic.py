"""Cyclic schedulers: CyclicLR, CosineAnnealingWarmRestarts, OneCycleLR."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from ..._tensor import Tensor
from ..optimizer import Optimizer
from .base import LRScheduler, _check_optimizer, _format_param, _update_param_group_val, _warn_get_lr_called_within_step

Rates = list[float | Tensor]


class _MomentumCycle(LRScheduler):
    """Base of CyclicLR and OneCycleLR: a momentum, or beta1, that is cycled inversely to the learning rate."""

    def _mstorch_check_momentum(self) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults

    def _mstorch_start_momentum(self, highest: list[Any], lowest: list[Any]) -> None:
        for high, low, group in zip(highest, lowest, self.optimizer.param_groups, strict=True):
            self._mstorch_set_momentum(group, high)
            group["max_momentum"] = high
            group["base_momentum"] = low

    def _mstorch_set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_MomentumCycle):
    """Cycles linearly from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and back in ``step_size_down``.

    Smith, "Cyclical Learning Rates for Training Neural Networks", arXiv:1506.01186. ``mode`` or ``scale_fn`` scales the amplitude of each
    cycle. Raises ValueError for an unknown mode, or if the momentum is to cycle and there is none.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _update_param_group_val(group, "lr", rate)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)

        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()

        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._mstorch_check_momentum()
            self.base_momentums = _format_param("base_momentum", optimizer, base_momentum)
            self.max_momentums = _format_param("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                self._mstorch_start_momentum(self.max_momentums, self.base_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is None:
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x) -> float:
        """Return the factor of the amplitude, as a function of the cycle or the iteration ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> Rates:
        """Return the learning rates for ``last_epoch``, which counts batches, and set the momentum."""
        _warn_get_lr_called_within_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)

        def scaled(low, high):
            return (high - low) * height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

        rates = [low + scaled(low, high) for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._mstorch_set_momentum(group, high - scaled(low, high))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Return every attribute except the optimizer; a scale function as None, a callable object as its attributes."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")  # comes last, as in torch
        plain = custom is None or isinstance(custom, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else custom.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes that ``state_dict`` returned; a scale function is kept."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])
        self._init_scale_fn()


class CosineAnnealingWarmRestarts(LRScheduler):
    """Anneals by half a cosine from the initial learning rate to ``eta_min`` over ``T_0`` epochs, then restarts with a period ``T_mult``
    times as long.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", arXiv:1608.03983. ``step(epoch)`` takes fractions of an
    epoch. Raises ValueError for T_0 or T_mult below 1 or not integers.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the learning rates ``T_cur`` epochs after the last restart."""
        _warn_get_lr_called_within_step(self)
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch=None) -> None:
        """Advance to the next epoch, or to ``epoch``, which may be a fraction. Raise ValueError if it is negative."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._mstorch_set_lr(rates)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            # The lengths of the cycles are a geometric series: `restarts` of them fit before `epoch`.
            restarts = int(math.log((epoch / self.T_0 * (self.T_mult - 1) + 1), self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts


class OneCycleLR(_MomentumCycle):
    """Rises to ``max_lr`` during ``pct_start`` of all steps, then falls far below the initial rate.

    Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", arXiv:1708.07120; in two phases,
    or in three as there. Steps once per batch. Raises ValueError for options out of range and for a step after the last.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            _check_positive("total_steps", total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            _check_positive("epochs", epochs)
            _check_positive("steps_per_epoch", steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy

        peaks = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for peak, group in zip(peaks, optimizer.param_groups, strict=True):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._mstorch_check_momentum()
            highest = _format_param("max_momentum", optimizer, max_momentum)
            lowest = _format_param("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                self._mstorch_start_momentum(highest, lowest)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start, end, part: float):
        kind = getattr(self, "_anneal_func_type", None)
        if kind is None:  # in states of torch before 2.0 the function itself
            return vars(self)["anneal_func"](start, end, part)
        return (self._annealing_linear if kind == "linear" else self._annealing_cos)(start, end, part)

    @staticmethod
    def _annealing_cos(start, end, pct):
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start, end, pct):
        return (end - start) * pct + start

    def get_lr(self) -> Rates:
        """Return the learning rates for `last_epoch`, which counts batches, and set the momentum."""
        _warn_get_lr_called_within_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        phase = self._schedule_phases[0]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)

        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self._mstorch_set_momentum(group, momentum)
        return rates


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")


def _phases(steps: int, rise: float, three: bool) -> list[dict[str, Any]]:
    """Return the phases of the cycle: each has its last step, and the names of the group entries between which it interpolates."""
    up = _phase(float(rise * steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        return [up, _phase(steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [
        up,
        _phase(float(2 * rise * steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        _phase(steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]


def _phase(end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    return {
        "end_step": end_step,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }
