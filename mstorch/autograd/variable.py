"""torch.autograd.Variable, the deprecated name of Tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor_base import TensorBase
from .._tape.engine import next_callback, running


class ImperativeEngine:
    """The engine that runs backward."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call a function when the running backward pass has ended."""
        if not running.accumulates:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        next_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Return whether the running backward accumulates into all leaves; True outside one."""
        return all(running.accumulates)


class VariableMeta(type):
    """Metaclass that makes every tensor an instance of Variable."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, TensorBase)


class Variable(metaclass=VariableMeta):
    """Deprecated name of Tensor: ``Variable(data)`` returns ``data``."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool | None = None, volatile: bool | None = None) -> Any:
        """Return the tensor unchanged."""
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(bool(requires_grad))
