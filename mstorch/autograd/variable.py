"""torch.autograd.Variable, the deprecated name of Tensor."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from .._src.ops.memory.creation import empty
from .._src.tape.passes import next_callback, running


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

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """Return ``data`` as a new leaf: ``Variable(data=None, requires_grad=False, volatile=False, _grad_fn=None, name=None)``."""
        if len(args) + len(named) > len(_PARAMETERS):
            raise TypeError(f"function takes at most {len(_PARAMETERS)} arguments ({len(args) + len(named)} given)")
        for name in named:
            if name not in _PARAMETERS:
                raise TypeError(f"'{name}' is an invalid keyword argument for this function")
            if _PARAMETERS.index(name) < len(args):
                raise TypeError(f"argument for function given by name ('{name}') and position ({_PARAMETERS.index(name) + 1})")
        given = {**dict(zip(_PARAMETERS, args)), **named}
        data = given.get("data")
        tracked, volatile = (bool(operator.index(given.get(name, False))) for name in ("requires_grad", "volatile"))
        if given.get("_grad_fn") is not None:
            raise NotImplementedError("mstorch: Variable(_grad_fn=…)")
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
            if tracked:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is None:
            data = empty(0)
        elif not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {_type_name(data)}")
        if tracked and data.dtype.is_integral:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return data.detach().requires_grad_(tracked)


_PARAMETERS = ("data", "requires_grad", "volatile", "_grad_fn", "name")
_IN_PYTHON = 1 << 9  # the flag of types that are not written in C


def _type_name(value: object) -> str:
    """Return the name of a value's type as C code has it: of types written in C with their module."""
    kind = type(value)
    return kind.__name__ if kind.__flags__ & _IN_PYTHON or kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
