"""no_grad, enable_grad, set_grad_enabled, inference_mode: context managers that are also decorators."""
from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar, overload

from typing_extensions import Self

from .._src.backend import tape
from .._src.core.decorating import around_generator
from .._src.core.modes import modes
from .._src.core.warned import DECORATED_CLASS, warn
from .._src.leaving import Block, each, values_again

F = TypeVar("F", bound=Callable[..., Any])


def _set(mode: bool) -> None:
    """Enable or disable gradients, in mstorch's autograd and, where it is in use, in MindSpore's."""
    modes.grad = mode
    if modes.native is not None and not modes.native.follows:
        tape.set_grad_enabled(mode)


class _Mode(Block):
    """A grad mode for a ``with`` block or the calls of a decorated function (or a generator, between its yields)."""

    def clone(self) -> Self:
        """Return a new instance with the same setting."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError("a mode says what it sets")

    def __call__(self, orig_func: F) -> F:
        if inspect.isclass(orig_func):
            warn(DECORATED_CLASS, FutureWarning)
        if inspect.isgeneratorfunction(orig_func):
            return around_generator(self.clone, orig_func)  # type: ignore[return-value]

        @functools.wraps(orig_func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            before = modes.grad, modes.inference, modes.marks
            try:  # an interrupt may come before a block's __exit__ has begun
                with self.clone():
                    return orig_func(*args, **kwargs)
            finally:
                modes.grad, modes.inference, modes.marks = before

        return decorated  # type: ignore[return-value]

    def _enter(self, mode: bool, inference: bool | None = None) -> None:
        again = values_again(modes, "grad", "inference", "marks")
        if modes.native is None:
            self.at_end(again)
        else:
            self.at_end(each(again, tape.grad_enabled_again()))
            tape.set_grad_enabled(mode)
        if inference is not None:
            modes.inference, modes.marks = inference, inference or modes.level > 0
        modes.grad = mode


class no_grad(_Mode):
    """Disables gradient computation."""

    @overload
    def __new__(cls, orig_func: F) -> F: ...

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...

    def __new__(cls, orig_func: Any = None) -> Any:
        mode = super().__new__(cls)
        if orig_func is None:
            return mode
        mode.__init__()
        return mode(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        pass

    def __enter__(self) -> None:
        self._enter(False)


class enable_grad(no_grad):
    """Enables gradient computation, also inside ``no_grad``."""

    def __enter__(self) -> None:
        self._enter(True)


class set_grad_enabled(_Mode):
    """Enables or disables gradient computation from the call on; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.prev = mode, modes.grad
        self._enter(bool(mode))

    def __call__(self, orig_func: F) -> F:
        _set(self.prev)
        return super().__call__(orig_func)

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        _set(bool(self.mode))

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.{type(self).__name__}(mode={self.mode})"


class inference_mode(_Mode):
    """Disables gradient computation, like ``no_grad``. Differs from torch: tensors created inside may be used in autograd afterwards."""

    @overload
    def __new__(cls, mode: F) -> F: ...

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._enter(not self.mode, self.mode)


def is_grad_enabled() -> bool:
    """Return whether gradient computation is enabled."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on."""
    return modes.inference


class _Policy(_Mode):
    """A setting of how backward works that does not affect results; in effect from the call on, or for a block."""

    _chosen = threading.local()

    def __init__(self, mode: bool) -> None:
        self.prev = self._is_on()
        self.mode = mode
        self._set(mode)

    @classmethod
    def _is_on(cls) -> bool:
        return getattr(cls._chosen, cls.__name__, True)

    @classmethod
    def _set(cls, mode: bool) -> None:
        setattr(cls._chosen, cls.__name__, mode)

    def __call__(self, orig_func: F) -> F:
        self._set(self.prev)
        return super().__call__(orig_func)

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.at_end(functools.partial(setattr, self._chosen, type(self).__name__, self.prev))


class set_multithreading_enabled(_Policy):
    """Sets whether backward may use several threads; it uses one in any case, as torch's does on the CPU."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)


def is_multithreading_enabled() -> bool:
    """Return the value set by ``set_multithreading_enabled``, True by default."""
    return set_multithreading_enabled._is_on()


class enforce_grad_layout_policy(_Policy):
    """Sets whether gradients have the strides of their parameters; in mstorch they are row-major in any case."""

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


def is_view_replay_enabled() -> bool:
    """Return the value set by ``_force_original_view_tracking``, False by default."""
    return modes.replay


class _force_original_view_tracking(_Mode):
    """Sets whether a view whose base was written gets the view's own node again, from the call on or for a block."""

    def __init__(self, mode: bool) -> None:
        self.prev = modes.replay
        self.mode = mode
        modes.replay = bool(mode)

    def __call__(self, orig_func: F) -> F:
        modes.replay = self.prev
        return super().__call__(orig_func)

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.at_end(functools.partial(setattr, modes, "replay", self.prev))
        modes.replay = bool(self.mode)
