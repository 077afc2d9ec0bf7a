"""torch.utils._python_dispatch: modes that see calls below autograd, by the names of torch's own library.

A mode sees ``torch.ops.aten`` overloads with torch's arguments, in forward and in backward. Differs from torch: ``detach`` calls that
autograd makes for itself are not shown, gradients that were recorded before the mode was entered raise NotImplementedError, and
so do operators whose parts are not known; optimisers compute in one piece, which is not shown.
"""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._aten import calling
from .._core.overriding import MODES, dispatches, state
from .._core.tensor_base import TensorBase
from .._leaving import END, Block, Undo, each, length_again, undoing, values_again

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


class TorchDispatchMode(Block):
    """A ``with`` block in which ``__torch_dispatch__(func, types, args, kwargs)`` is called for every operator.

    Inside of that method the mode itself is off, and nothing is recorded for autograd.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("mstorch: modes of infrastructure have no keys of their own")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Handle a call; subclasses define it."""
        raise NotImplementedError

    def __enter__(self) -> TorchDispatchMode:
        dispatchers = state.dispatchers
        self.at_end(each(length_again(dispatchers), MODES.pop))
        MODES[END:] = (None,)
        dispatchers[END:] = (self,)
        return self

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """Return a new mode, as ``cls(...)`` gives it."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return False: modes of users are none of infrastructure."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls every operator as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return the operator's own result."""
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    """Return the innermost mode, or None."""
    return state.dispatchers[-1] if state.dispatchers else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the thread's modes, the innermost last."""
    return list(state.dispatchers)


def _len_torch_dispatch_stack() -> int:
    """Return how many modes the thread has."""
    return len(state.dispatchers)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether the thread has a mode."""
    return bool(state.dispatchers)


def _pop_mode_temporarily(k: Any = None) -> AbstractContextManager[Any]:
    """Return the innermost mode, which is off in the block."""
    return calling.without_innermost()


@undoing
def _disable_current_modes(undo: Undo) -> list[Any]:
    """No mode is on in the block."""
    before = state.dispatchers
    undo[END:] = (values_again(state, "dispatchers"),)
    state.dispatchers = []
    return list(before)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return whether a tensor takes calls below autograd and says what it is made of: ``__tensor_flatten__`` and ``__tensor_unflatten__``.
    """
    subclass = isinstance(t, TensorBase) and dispatches(type(t))
    return subclass and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return the same of a class."""
    return issubclass(t, TensorBase) and dispatches(t) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return the result of a subclass's handler: for an operator that writes in place, the argument that it wrote to."""
    return args[0] if getattr(func, "_is_in_place", False) and args else out
