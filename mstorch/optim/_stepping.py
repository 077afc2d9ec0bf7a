"""The shared implementation of torch's optimizers: a class declares its state and its functional form, and ``Stepping`` adds the methods.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from .._src.core.above import above
from .._src.core.overriding import TENSORS, dispatches, overrides
from .._src.core.tensor_base import twin
from .._src.ops.elementwise.complex_views import view_as_real
from .._src.ops.memory.together import LAYS_OUT
from .._tensor import Tensor
from ..autograd import enable_grad, no_grad
from ._together import update_together
from .optimizer import (
    Optimizer,
    _device_dtype_check_for_fused,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _use_grad_for_differentiable,
)

Group = dict[str, Any]
_is_none = partial(operator.is_, None)
Class = TypeVar("Class", bound=type[Optimizer])
# Function of a parameter, its group and the optimizer that returns the initial value of a state entry; None if there is no such entry.
Start = Callable[[Tensor, Group, Optimizer], Any]

# Options that most optimizers gained later, so that older checkpoints lack them.
LATER = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}


# Initial state


def zeros_like(tensor: Any) -> Tensor:
    """Return zeros like a tensor; for a DTensor, as a DTensor."""
    spread = getattr(tensor, "_spread_zeros", None)
    return above.torch.zeros_like(tensor) if spread is None else spread()


def zeros(param: Tensor, group: Group, optimizer: Optimizer) -> Tensor:
    """Return the initial value of a state entry that is like its parameter."""
    return zeros_like(param)


class Counter:
    """Callable that makes a 0-d state entry. The entry is on the CPU, or on the parameter's device if the group is fused or capturable.

    ``first`` is the initial value, or a function of the group that returns it. With ``beside``, the entry is always on the parameter's
    device."""

    def __init__(self, first: float | Callable[[Group], float] = 0.0, beside: bool = False) -> None:
        self.first = first
        self.beside = beside

    def __call__(self, param: Tensor, group: Group, optimizer: Optimizer) -> Tensor:
        return self.at(self.first(group) if callable(self.first) else self.first, param, group)

    def at(self, value: float, param: Tensor, group: Group) -> Tensor:
        """Return the state entry for a value given as a number: its initial value, or one from an old checkpoint."""
        fused = group.get("fused")
        on_device = self.beside or fused or group.get("capturable")
        return above.torch.tensor(value, dtype=_get_scalar_dtype(fused), device=param.device if on_device else "cpu")


def begin(starts: Mapping[str, Start], param: Tensor, group: Group, optimizer: Optimizer) -> None:
    """Initialize a parameter's state, unless it already has one of these entries."""
    state = optimizer.state[param]
    if state.keys().isdisjoint(starts):
        for name, start in starts.items():
            entry = start(param, group, optimizer)
            if entry is not None:
                state[name] = entry


# Declarations of a class, and the methods derived from them


def evaluate(closure: Callable[[], Any] | None) -> float | None:
    """Call a step's closure with grad enabled, and return its result; None without a closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


@dataclass
class Stepping:
    """Class decorator that adds ``step``, which calls a functional form, ``_init_group`` and ``__setstate__``.

    Options common to the constructor and the functional form are passed from the param group. It is not a base class because torch's
    optimizers derive from Optimizer directly, and programs read that in ``Optimizer.__subclasses__()``.
    """

    # The functional form.
    update: Callable[..., None]
    # Initial values of the entries of a parameter's state, in the order of `state_dict`.
    state: Mapping[str, Start] = field(default_factory=dict)
    # The entry that each list argument of the functional form contains, in the order of `_init_group`.
    lists: Mapping[str, str] = field(default_factory=dict)
    # Entries that exist only in groups with an option, by entry.
    only_with: Mapping[str, str] = field(default_factory=dict)
    # If True, entries may be missing: their lists contain None, and values that a step sets there are kept.
    gaps: bool = False
    # If True, the state is initialized even if the program has stored its own entries in it; otherwise only an empty state is.
    beside: bool = False
    # Options that are several parameters of the functional form.
    split: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Options that old checkpoints lack, in the order in which torch adds them.
    later: Mapping[str, Any] = field(default_factory=dict)
    # If True, each element of a parameter is updated independently, so that parameters may be concatenated.
    elementwise: bool = False
    takes_sparse: bool = False
    takes_complex: bool = True
    # Text appended to the error for sparse gradients.
    advice: str = ""
    # Check of a group and the states of its parameters, before a step.
    check: Callable[[Group, list[dict[str, Any]]], None] | None = None

    def __call__(self, cls: Class) -> Class:
        taken, options = signature(self.update).parameters, signature(cls).parameters
        self.owner = cls.__name__
        self.passed = [name for name in options if name in taken and name not in self.split and name != "params"]
        self.counters = [name for name, entry in self.lists.items() if isinstance(self.state[entry], Counter)]
        self.flags = [name for name in ("has_sparse_grad", "has_complex") if name in taken]
        stepping = self

        def _init_group(self, group, params_with_grad, grads, *lists):
            """Append a group's parameters that have gradients, their gradients and state to lists; return whether any is sparse or complex.
            """
            return stepping._gather(self, group, params_with_grad, grads, lists)

        def step(self, closure=None):
            """Update the parameters once; return the value of ``closure``."""
            return stepping._step(self, closure)

        def __setstate__(self, state):
            super(cls, self).__setstate__(state)  # type: ignore[arg-type]
            stepping._restore(self)

        # Callers rely on the number of parameters in the signature.
        names = ("self", "group", "params_with_grad", "grads", *self.lists)
        spelled = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])
        _init_group.__signature__ = spelled  # type: ignore[attr-defined]
        for method in (_init_group, step, __setstate__):
            method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{method.__name__}"
        guard = _use_grad_for_differentiable if "differentiable" in options else no_grad()
        for method in (_init_group, guard(step), __setstate__):
            setattr(cls, method.__name__, method)
        return cls

    def _step(self, optimizer: Any, closure: Callable[[], Any] | None) -> float | None:
        loss = evaluate(closure)
        for group in optimizer.param_groups:
            params: list[Tensor] = []
            grads: list[Tensor] = []
            lists: dict[str, list[Any]] = {name: [] for name in self.lists}
            found = optimizer._init_group(group, params, grads, *lists.values())
            targets = _without_methods(params) if group.get("foreach") or group.get("fused") else params
            options = {name: group[name] for name in self.passed}
            for name, parts in self.split.items():
                options.update(zip(parts, group[name], strict=True))
            options.update(zip(self.flags, found if isinstance(found, tuple) else (found,)))
            given = lists
            if self.elementwise and not options.get("differentiable"):
                targets, grads, given = self._on_own_elements(targets, grads, lists)
            if self.elementwise and len(params) > 1 and self._may_be_together(group, options, given):
                update_together(self.update, targets, grads, given, self.counters, options)
            else:
                self.update(targets, grads, **given, **options)
            if self.gaps:
                for entry, values in zip(self.lists.values(), lists.values()):
                    for param, value in zip(params, values):
                        if value is not None:
                            optimizer.state[param][entry] = value
        return loss

    def _on_own_elements(self, params: list[Any], grads: list[Any], lists: dict[str, list[Any]]) -> tuple[list[Any], list[Any], Any]:
        """Return the arguments of an update with each tensor's elements of this rank in place of a DTensor, if the parameters are DTensors
        whose gradients and states are spread alike: each element is updated by itself, so that no operation has to know of the others."""
        own = [getattr(param, "_own_elements", None) for param in params]
        if not params or None in own:
            return params, grads, lists
        tables = {name: values for name, values in lists.items() if name not in self.counters and values}
        plain: list[list[Any]] = []
        for tensors in (params, grads, *tables.values()):
            shards = [shard() if (shard := getattr(tensor, "_own_elements", None)) is not None else None for tensor in tensors]
            if None in shards:
                return params, grads, lists
            plain.append(shards)
        if any(shard[1] != first[1] for shards in plain for shard, first in zip(shards, plain[0])):
            return params, grads, lists
        locals_ = [[shard[0] for shard in shards] for shards in plain]
        return locals_[0], locals_[1], {**lists, **dict(zip(tables, locals_[2:]))}

    def _may_be_together(self, group: Group, options: Mapping[str, Any], lists: Mapping[str, list[Any]]) -> bool:
        """Return whether one device call may update all parameters of a group, like ``foreach``: the group allows it, no option is a
        tensor, gradients are neither sparse nor complex, and no entry of the lists is None."""
        if not LAYS_OUT or group.get("foreach") is False or group.get("differentiable") or group.get("capturable"):
            return False
        if any(isinstance(value, Tensor) or (name in self.flags and value) for name, value in options.items()):
            return False
        return not any(any(map(_is_none, values)) for values in lists.values())

    def _gather(self, optimizer: Optimizer, group: Group, params_with_grad: list[Any], grads: list[Any], lists: Sequence[list[Any]]) -> Any:
        params, slopes = [], []
        for param in group["params"]:
            grad = param.grad
            if grad is not None:
                params.append(param)
                slopes.append(grad)
        # Checks per parameter are slow if parameters are small: check one parameter per dtype; no plain tensor is sparse.
        kinds = {param._ms_dtype: param for param in params}
        has_complex = any(kind.is_complex for kind in kinds)
        has_sparse = any(grad.is_sparse for grad in slopes if grad.__class__ is not Tensor)
        if has_complex and not self.takes_complex:
            raise RuntimeError(f"{self.owner} does not support complex parameters")
        if has_sparse and not self.takes_sparse:
            raise RuntimeError(f"{self.owner} does not support sparse gradients{self.advice}")
        if group.get("fused"):
            for param in kinds.values():
                _device_dtype_check_for_fused(param)
        params_with_grad += params
        grads += slopes

        absent = [entry for entry, option in self.only_with.items() if not group[option]]
        starts = {entry: start for entry, start in self.state.items() if entry not in absent}
        if starts:
            states, first = [optimizer.state[param] for param in params], next(iter(starts))
            for param, state in zip(params, states):
                if not state or self.beside and first not in state:  # otherwise a KeyError names the missing entry
                    begin(starts, param, group, optimizer)
            if self.check is not None:
                self.check(group, states)
            for entry, values in zip(self.lists.values(), lists):
                if entry not in absent:
                    lacking = self.gaps and not isinstance(self.state[entry], Counter)
                    values += [state.get(entry) if lacking else state[entry] for state in states]
        flags = {"has_sparse_grad": has_sparse, "has_complex": has_complex}
        told = tuple(flags[name] for name in self.flags)  # none for a functional form that takes none
        return told[0] if len(told) == 1 else told

    def _restore(self, optimizer: Optimizer) -> None:
        counters = {entry: start for entry, start in self.state.items() if isinstance(start, Counter)}
        for group in optimizer.param_groups:
            for name, value in self.later.items():
                group.setdefault(name, value)
            for param in group["params"]:
                state = optimizer.state.get(param, {})
                for entry, counter in counters.items():
                    if entry in state and not isinstance(state[entry], Tensor):
                        state[entry] = counter.at(float(state[entry]), param, group)


def _without_methods(params: list[Tensor]) -> list[Tensor]:
    """Return parameters whose class has methods of its own as plain tensors: torch's fused and foreach steps do not call these methods."""
    if TENSORS.issuperset(map(type, params)):
        return params
    return [param if type(param) in TENSORS or overrides(param) or dispatches(type(param)) else twin(param) for param in params]


# Common beginning of functional forms


def check_counters(counters: list[Tensor], name: str = "state_steps") -> None:
    """Raise RuntimeError unless counters are tensors; state dicts of old versions of torch have numbers."""
    for counter in counters:
        if not isinstance(counter, Tensor):
            raise RuntimeError(f"API has changed, `{name}` argument must contain a list of singleton tensors")


def check_captured(
    params: list[Tensor], *counters: list[Tensor], what: str = "params and state_steps", on_xla: bool = True
) -> None:
    """Raise AssertionError unless a step can be captured on the devices of the parameters and counters."""
    devices = _get_capturable_supported_devices(on_xla)
    for param, *own in zip(params, *counters):
        if param.device.type not in devices or any(counter.device.type != param.device.type for counter in own):
            raise AssertionError(f"If capturable=True, {what} must be on supported devices: {devices}.")


def check_no_grad_scale(grad_scale: Tensor | None, found_inf: Tensor | None) -> None:
    """Raise AssertionError for a GradScaler's arguments, which only fused steps accept."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


def tracked(x: Tensor | float) -> bool:
    """Return whether an option is a tensor that requires grad."""
    return isinstance(x, Tensor) and x.requires_grad


def decayed(grad: Tensor, param: Tensor, weight_decay: Any) -> Tensor:
    """Return the gradient with L2 weight decay added."""
    if tracked(weight_decay):
        return grad.addcmul(param.clone(), weight_decay)
    return grad if weight_decay == 0 else grad.add(param, alpha=_get_value(weight_decay))


def with_eps(root: Tensor, eps: float, differentiable: bool) -> Tensor:
    """Return a square root plus ``eps``, in its own memory unless autograd saves it."""
    return root.add(eps) if differentiable else root.add_(eps)


def prepared(
    params: list[Tensor], grads: list[Tensor], *states: Sequence[Tensor | None], steps: list[Tensor], maximize: bool = False,
    weight_decay: float = 0, decoupled_lr: Any = None, real_first: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield each parameter with its gradient, its counter of ``steps``, incremented here, and its state, ready for the update.

    Complex tensors become real views: before weight decay if ``real_first``, which matters for infinite values. Weight decay is added to
    the gradient, or shrinks the parameter at the rate ``decoupled_lr``.
    """
    for param, grad, step, *state in zip(params, grads, steps, *states, strict=True):
        step.add_(1)
        if maximize:
            grad = -grad
        is_complex = param.is_complex() and not grad.is_sparse
        if is_complex and real_first:
            param, grad, *state = _as_real(param, grad, *state)
        if decoupled_lr is None:
            grad = decayed(grad, param, weight_decay)
        elif weight_decay != 0:
            param.mul_(1 - decoupled_lr * weight_decay)
        if is_complex and not real_first:
            param, grad, *state = _as_real(param, grad, *state)
        yield param, grad, step, *state


def _as_real(*tensors: Tensor | None) -> list[Any]:
    return [None if tensor is None else view_as_real(tensor) for tensor in tensors]
