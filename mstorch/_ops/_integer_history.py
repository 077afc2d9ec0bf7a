"""What torch's autograd makes of integers that a tensor of gradients was put into."""
from __future__ import annotations

from typing import Any

from .._core.modes import modes
from .._core.tensor_base import TensorBase, is_tracked
from .._tape.composite import refuse
from .._tape.node import refuse_history

_ERROR = (
    'isDifferentiableType(grad.scalar_type()) INTERNAL ASSERT FAILED at "torch/csrc/autograd/engine.cpp", please report a bug to PyTorch. '
)


def refuse_tracked(result: Any, *operands: Any) -> Any:
    """The integers that an operation made, which torch refuses to make of integers with a history."""
    if modes.grad and modes.native is None and any(isinstance(item, TensorBase) and is_tracked(item) for item in operands):
        refuse_history(result._dtype)
    return result


def follow_fill(target: Any, value: Any, label: str, operation: str = "fill_") -> None:
    """Let integers that a tensor was written into take part in autograd, as they do in torch, which cannot go back through them."""
    if target._dtype.category >= 2 or not modes.grad or modes.native is not None or not is_tracked(value):
        return
    base = None if target._auto is None else target._auto.base
    if base is None:
        refuse(label, operation, value, target, RuntimeError(_ERROR))
        return
    refuse("CopySlices", operation, value, base, RuntimeError(_ERROR))
    target._auto.seen = -1
