"""torch.utils._contextlib: context managers that also decorate functions, generator functions and classes."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from .._src.core.decorating import around_generator
from .._src.core.warned import DECORATED_CLASS, warn
from .._tensor import Tensor

__all__ = ["F", "_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]

F = Callable[..., Any]


def context_decorator(ctx: Callable[..., Any], func: F) -> F:
    """Wrap ``func`` to run in a context at each call; ``ctx`` is a context manager or a callable that returns one."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__)")
    factory = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context "
            "manager applied; additionally, decorating a class at definition-site will prevent use of the identifier as a "
            "conventional type.  To specify which methods to decorate, decorate each of them individually."
        )
    if inspect.isgeneratorfunction(func):
        return around_generator(factory, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Tensor:
        with factory():
            return func(*args, **kwargs)

    return decorated


class _DecoratorContextManager:
    """A context manager that can decorate functions. A subclass defines ``__enter__`` and ``__exit__``, and ``clone`` if it takes
    arguments.
    """

    def __call__(self, orig_func: F) -> F:
        if inspect.isclass(orig_func):
            warn(DECORATED_CLASS, FutureWarning)
            function: Any = orig_func
            return context_decorator(self.clone, lambda *args, **kwargs: function(*args, **kwargs))
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """Return a new instance with the same settings."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context manager that decorates without parentheses: ``@manager`` for ``@manager()``."""

    def __new__(cls, orig_func: F | None = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
