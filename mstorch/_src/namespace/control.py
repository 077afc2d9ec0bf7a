"""torch.cond and torch.while_loop, run eagerly."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor_base import TensorBase


def _truth(value: Any, what: str) -> bool:
    if isinstance(value, TensorBase) and value.numel() != 1:
        raise RuntimeError(f"Expected {what} to be bool or single-element tensor, but got {value}.")
    return bool(value)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """Return ``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``."""
    if not isinstance(pred, (bool, int, float, TensorBase)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    truth = _truth(pred, "pred")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if truth else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Apply ``body_fn`` to the carried inputs while ``cond_fn`` is true; return their last values."""
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callable.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list of tensors and numbers, but got {carried_inputs}.")
    carried = result = tuple(carried_inputs)
    while True:
        pred = cond_fn(*carried)
        if not isinstance(pred, bool) and not (isinstance(pred, TensorBase) and pred.numel() == 1):
            raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {pred}")
        if not bool(pred):
            return result
        result = body_fn(*carried)
        carried = tuple(result) if isinstance(result, (tuple, list)) else (result,)
