"""Averages of a model's parameters over training, and a matching learning rate schedule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

from .._src.core.dtype import int64
from .._src.hook import missing as _missing
from .._src.ops.memory.from_data import tensor
from .._tensor import Tensor
from ..autograd import no_grad
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from .lr_scheduler import LRScheduler
from .lr_scheduler.base import _format_param, _warn_get_lr_called_within_step
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _averages(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def get_ema_multi_avg_fn(decay=0.999):
    """Return a function that updates a list of exponential moving averages in place, with factor ``decay``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if _averages(ema_param_list[0]):
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn():
    """Return a function that updates a list of equally weighted averages in place."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged) -> None:
        weight = 1 / (num_averaged + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if _averages(averaged_param_list[0]):
                average.lerp_(current, weight)
            elif isinstance(num_averaged, Tensor):
                average.addcdiv_(current - average, num_averaged + 1)
            else:
                average.add_(current - average, alpha=weight)

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """Return a function of (average, value, count) that computes decay · average + (1 - decay) · value."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """Return a function of (average, value, count) that computes the equally weighted average."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages: equally weighted, or by ``avg_fn`` or ``multi_avg_fn``.

    Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization", arXiv:1803.05407. Buffers are averaged with
    ``use_buffers``, else copied. Raises AssertionError if both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device=None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers=False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the running averages with the parameters of ``model``; the first call copies the parameters."""
        averages, values = self._pairs(model)
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged.to(average.device)))
        else:
            self._update_lists(averages, values)
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged.add_(1)

    def _pairs(self, model: Module) -> tuple[list[Tensor], list[Tensor]]:
        mine: Iterable[Tensor] = self.module.parameters()
        theirs: Iterable[Tensor] = model.parameters()
        if self.use_buffers:
            mine = itertools.chain(mine, self.module.buffers())
            theirs = itertools.chain(theirs, model.buffers())
        averages = [average.detach() for average in mine]
        # Not strict: as in torch, one of the models may have more parameters.
        values = [value.detach().to(average.device) for average, value in zip(averages, theirs, strict=False)]
        return averages[: len(values)], values

    def _update_lists(self, averages: list[Tensor], values: list[Tensor]) -> None:
        together: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for average, value in zip(averages, values, strict=True):
            group = together.setdefault((average.device, average.dtype), ([], []))
            group[0].append(average)
            group[1].append(value)
        for (device, _), (some_averages, some_values) in together.items():
            count = self.n_averaged.to(device)
            if self.multi_avg_fn is not None:
                self.multi_avg_fn(some_averages, some_values, count)
                continue
            mean = get_swa_avg_fn()
            for average, value in zip(some_averages, some_values, strict=True):
                average.copy_(mean(average, value, count))


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device=None) -> None:
    """Set the running statistics of all batch norms in ``model`` to equally weighted averages over ``loader``'s batches."""
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


def _linear(t: float) -> float:
    return t


def _cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


class SWALR(LRScheduler):
    """Anneals the learning rate to ``swa_lr`` over ``anneal_epochs`` epochs and holds it there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs=10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch=-1,
    ) -> None:
        for rate, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = _cosine if anneal_strategy == "cos" else _linear

    def get_lr(self):
        """Return the learning rates of this step, computed from the previous ones."""
        _warn_get_lr_called_within_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        epochs = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / epochs)))
        now = self.anneal_func(max(0, min(1, step / epochs)))
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            # The rate at which annealing began, computed from the last rate.
            first = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + first * (1 - now))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Return every attribute except the optimizer and the annealing function."""
        state = super().state_dict()
        del state["anneal_func"]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes that ``state_dict`` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)

__getattr__ = _missing(__name__)
