"""torch.autograd.Variable, the tensor of old programs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor_base import TensorBase
from .._tape.engine import next_callback, running


class ImperativeEngine:
    """The engine that runs backward."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call a function when the backward pass that is going on has ended."""
        if not running.accumulates:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        next_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Return whether the backward that is going on accumulates into all leaves; True outside of one."""
        return all(running.accumulates)


class VariableMeta(type):
    """Tensors are Variables."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, TensorBase)


class Variable(metaclass=VariableMeta):
    """``Variable(data)`` is the tensor itself, over the same data: tensors have been variables since torch 0.4."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool | None = None, volatile: bool | None = None) -> Any:
        """Return the tensor."""
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(bool(requires_grad))
