"""torch.utils._python_dispatch: modes that intercept operators below autograd, with the names of torch's own library.

A mode receives ``torch.ops.aten`` overloads with torch's arguments, in forward and in backward. Differs from torch: ``detach`` calls that
autograd makes internally are not passed to the mode; a backward through a graph made before the mode was entered raises
NotImplementedError, and so do operators whose decomposition is not known; optimizer steps run as a whole and are not passed to the mode.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._src.aten import calling
from .._src.core.overriding import MODES, dispatches, state
from .._src.core.tensor_base import TensorBase
from .._src.leaving import END, Block, Undo, each, length_again, undoing, values_again

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


class TorchDispatchMode(Block):
    """A context manager in which ``__torch_dispatch__(func, types, args, kwargs)`` is called for every operator.

    Within that method the mode itself is disabled, and autograd tracks nothing.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("mstorch: modes of infrastructure have no keys of their own")

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
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
        """Return a new mode; same as ``cls(...)``."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return False: user modes are not infrastructure modes."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls every operator unchanged."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Return the operator's own result."""
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """Return the innermost active mode, or None."""
    return state.dispatchers[-1] if state.dispatchers else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the thread's active modes, the innermost last."""
    return list(state.dispatchers)


def _len_torch_dispatch_stack() -> int:
    """Return the number of active modes of the thread."""
    return len(state.dispatchers)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a mode is active on the thread."""
    return bool(state.dispatchers)


def _pop_mode_temporarily(k: Any = None) -> AbstractContextManager[Any]:
    """Context manager in which the innermost mode is disabled; its value is that mode."""
    return calling.without_innermost()


@undoing
def _disable_current_modes(undo: Undo) -> list[Any]:
    """Context manager in which all modes are disabled."""
    before = state.dispatchers
    undo[END:] = (values_again(state, "dispatchers"),)
    state.dispatchers = []
    return list(before)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return whether a tensor subclass defines ``__torch_dispatch__``, ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    subclass = isinstance(t, TensorBase) and dispatches(type(t))
    return subclass and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether a class defines ``__torch_dispatch__``, ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return issubclass(t, TensorBase) and dispatches(t) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return ``out``; for an in-place operator, the argument that it wrote to."""
    return args[0] if getattr(func, "_is_in_place", False) and args else out
