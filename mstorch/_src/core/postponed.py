"""Calls that a captured training step makes after its graph: ``optimizer.step()`` and those that follow it.

They change objects of Python's, which no graph does. While a step is captured, and while its graph is compared with the eager function,
they are kept and not made; each run of the graph makes them when its gradients are in ``.grad``.
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ..backend import tape
from ..leaving import Block, values_again
from .modes import modes
from .storage import Value
from .tensor_base import TensorBase

Function = TypeVar("Function", bound=Callable[..., Any])
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Postponed(threading.local):
    """``calls``: the calls that wait in this thread; None outside of a capture, where each call is made at once. ``stepped``: one of them
    changes parameters, so that nothing may be computed from them after it."""

    calls: list[Call] | None = None
    stepped = False


postponed = _Postponed()


class calls_wait(Block):
    """Context manager in which the calls of ``can_wait`` wait; ``calls`` are those that did."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __enter__(self) -> calls_wait:
        self.at_end(values_again(postponed, "calls", "stepped"))
        postponed.calls, postponed.stepped = self.calls, False
        return self


def keep(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], changes: bool = True) -> None:
    """Keep a call until the graph has run, which hands over the tensors among the arguments. It may have no closure, which would compute
    others. ``changes``: whether the call changes parameters or gradients."""
    assert postponed.calls is not None
    for value in (*args[1:], *kwargs.values()):
        if callable(value) and not isinstance(value, TensorBase) and not hasattr(value, "param_groups"):
            tape.refuse_in_trace(f"{function.__name__} takes a closure", "step")
    postponed.calls.append((function, args, kwargs))
    postponed.stepped = postponed.stepped or changes
    context = tape.tracing()
    if context is not None and changes:
        _close(context, args)


def _close(context: Any, args: tuple[Any, ...]) -> None:
    """Let nothing more be computed from parameters and gradients, which the call will change: neither from them nor from their views."""
    states = [param._ms_auto for value in args for group in getattr(value, "param_groups", ()) for param in group["params"]]
    grads = [state.grad for state in states if state is not None and state.grad is not None]
    values = [*modes.native.values(), *[grad._ms_storage for grad in grads]]
    for value in values:
        if value.__class__ is Value:
            value.writes += 1  # views that were read before are read anew
            context.closed[id(value.raw)] = value.raw


def can_wait(function: Function) -> Function:
    """Decorator of a method that waits in the capture of a step."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if postponed.calls is None else keep(function, args, kwargs)

    return cast(Function, called)


def waits_after_steps(function: Function) -> Function:
    """Decorator of a method that clears gradients: it waits after a call that waits, and is part of the graph before. A graph that is not
    of a step does not clear gradients."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if postponed.stepped:
            return keep(function, args, kwargs)
        if modes.native is not None and not modes.native.steps:
            tape.refuse_in_trace("gradients are cleared", "step")
        return function(*args, **kwargs)

    return cast(Function, called)


def refuse_after_steps(what: str) -> None:
    """Abort a capture in which calls wait that ``what`` would have to come after."""
    if postponed.stepped:
        tape.refuse_in_trace(f"{what} after the optimizer's step", "step")
