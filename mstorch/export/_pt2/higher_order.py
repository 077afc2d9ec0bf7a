"""Calls that run a graph of their own within a program: branches, and blocks with another grad mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.core.modes import grad_set_to
from ..._tensor import Tensor


def _given(result: Any) -> Any:
    return tuple(result) if isinstance(result, list) else result


def set_grad_enabled(enabled: bool, function: Callable[..., Any], *args: Any) -> Any:
    """Run a graph with gradients on or off."""
    with grad_set_to(enabled):
        return _given(function(*args))


def cond(predicate: Any, yes: Callable[..., Any], no: Callable[..., Any], operands: Any = ()) -> Any:
    """Run one of two graphs."""
    chosen = bool(predicate.item()) if isinstance(predicate, Tensor) else bool(predicate)
    return _given((yes if chosen else no)(*operands))


def autocast(device_type: str, dtype: Any, enabled: bool, cache_enabled: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Run a graph. Raise NotImplementedError if it would run under autocast."""
    if enabled:
        raise NotImplementedError("mstorch: a program's block under autocast")
    return _given(function(*args))


CALLS: dict[str, Callable[..., Any]] = {
    "torch.ops.higher_order.wrap_with_set_grad_enabled": set_grad_enabled,
    "torch.ops.higher_order.cond": cond,
    "torch.ops.higher_order.wrap_with_autocast": autocast,
}
