"""The base of all schedulers, and helpers for learning rates that are tensors."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

from typing_extensions import Self

from ..._src.backend.arrays import Number
from ..._src.core.postponed import can_wait
from ..._src.core.warned import warn
from ..._tensor import Tensor
from ..optimizer import Optimizer, _to_scalar

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Sets the "lr" of an optimizer's groups at each ``step()``; a subclass defines ``get_lr()``.

    Raises TypeError if ``optimizer`` is not an Optimizer, KeyError if it is resumed (``last_epoch`` ≥ 0) without "initial_lr".
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init_subclass__(cls) -> None:
        """Let each class's own ``step`` wait in the capture of a training step: it changes the optimizer's groups."""
        if "step" in vars(cls):
            cls.step = can_wait(cls.step)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                    "state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs: list[float | Tensor] = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return every attribute except the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes that ``state_dict`` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """Return the learning rates set by the last step, one per group."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """Return the learning rates for ``last_epoch``, one per group; called by ``step()`` only."""
        raise NotImplementedError

    @can_wait
    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to ``epoch``, and set the learning rates."""
        if self._step_count == 1:
            self._mstorch_warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _mstorch_warn_of_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`. " + _SEE,
                UserWarning,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                "will result in PyTorch skipping the first value of the learning rate schedule. " + _SEE,
                UserWarning,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._mstorch_set_lr(rates)

    def _mstorch_set_lr(self, rates: list[float | Tensor]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _update_param_group_val(group, "lr", rate)
        self._last_lr: list[float | Tensor] = _param_groups_val_list(self.optimizer, "lr")

    def _mstorch_current(self) -> list[float | Tensor]:
        return _param_groups_val_list(self.optimizer, "lr")

    def _mstorch_times(self, factor: float) -> list[float | Tensor]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """Deprecated name of LRScheduler, from which older scripts inherit."""


def _check_optimizer(optimizer: object) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _note_steps_of(optimizer: Optimizer) -> None:
    """Wrap the optimizer's ``step`` to set ``_opt_called``, from which the scheduler detects that it was stepped before the optimizer."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # A weak reference, so that the wrapper and the optimizer do not keep each other alive.
    reference = weakref.ref(optimizer)
    function = optimizer.step.__func__  # type: ignore[attr-defined]

    @wraps(function)
    def wrapper(*args, **kwargs):
        owner = reference()
        owner._opt_called = True  # type: ignore[union-attr]
        return function.__get__(owner, type(owner))(*args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]


def _copied(value: Tensor | Number) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _param_groups_val_list(optimizer: Optimizer, key: str) -> list[Any]:
    return [_copied(group[key]) for group in optimizer.param_groups]


def _update_param_group_val(group: dict[str, Any], key: str, value: float | Tensor) -> None:
    # A tensor is modified in place, because a captured step reads the tensor, not the group.
    if isinstance(group[key], Tensor):
        group[key].fill_(_to_scalar(value))
    else:
        group[key] = value


def _format_param(name: str, optimizer: Optimizer, value: float | list[float] | tuple[Any, ...]) -> list[Any]:
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [_copied(value) for _ in range(groups)]
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {groups}."
        )
    return [_copied(item) for item in value]


def _warn_get_lr_called_within_step(scheduler: LRScheduler) -> None:
    if not scheduler._get_lr_called_within_step:
        warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
        )


class _enable_get_lr_call:
    """Context manager in which ``get_lr`` of a scheduler gives no warning."""

    def __init__(self, o: LRScheduler) -> None:
        self.o = o

    def __enter__(self) -> Self:
        self.o._get_lr_called_within_step = True
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.o._get_lr_called_within_step = False


class _initial_mode:
    """Context manager in which a scheduler takes its first step."""

    def __init__(self, o: LRScheduler) -> None:
        self.o = o

    def __enter__(self) -> None:
        self.o._is_initial = True

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.o._is_initial = False


def _state_of_callable(function: Any) -> dict[str, Any] | None:
    """Return the attributes of a callable object; None for a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


class _LambdaScheduler(LRScheduler):
    """Base of LambdaLR and MultiplicativeLR: one function per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[..., Any] | list[Callable[..., Any]], last_epoch: int) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check_lambdas()
        super().__init__(optimizer, last_epoch)

    def _check_lambdas(self) -> None:
        """Raise TypeError if an entry is not callable; for LambdaLR, torch raises only when the entry is first called."""

    def state_dict(self) -> dict[str, Any]:
        """Return every attribute except the optimizer; functions as None, callable objects as their attributes."""
        state = super().state_dict()
        del state["lr_lambdas"]  # comes last, as in torch
        state["lr_lambdas"] = [_state_of_callable(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes that ``state_dict`` returned; functions are kept."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if state is not None:
                function.__dict__.update(state)
