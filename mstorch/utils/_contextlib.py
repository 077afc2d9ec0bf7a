"""torch.utils._contextlib: context managers that decorate functions, generator functions and classes."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

from typing_extensions import Self

__all__ = ["F", "_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]

F = Callable[..., Any]


def _around_generator(factory: Callable[[], AbstractContextManager[Any]], function: F) -> F:
    """Each stretch between two yields runs in a context of its own."""

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[..., Any] = generator.send
        value: Any = None
        while True:
            try:
                with factory():
                    response = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                step, value = generator.send, (yield response)
            except GeneratorExit:
                with factory():
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001  # whatever is thrown in belongs to the generator
                step, value = generator.throw, error

    return decorated


def context_decorator(ctx: Any, func: F) -> F:
    """``func`` in a context at each call: ``ctx`` is a context manager, or makes one when it is called."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__)")
    factory = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether only the constructor or all methods should run in the context")
    if inspect.isgeneratorfunction(func):
        return _around_generator(factory, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with factory():
            return func(*args, **kwargs)

    return decorated


class _DecoratorContextManager:
    """A context manager that is a decorator, too. A subclass has ``__enter__`` and ``__exit__``, and ``clone`` if it takes arguments."""

    def __call__(self, orig_func: F) -> F:
        if inspect.isclass(orig_func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods.",
                FutureWarning, stacklevel=2,
            )  # fmt: skip
            cls: Any = orig_func
            cls.__init__ = self(cls.__init__)
            return cls
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """Another one that does the same."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called: ``@manager`` for ``@manager()``."""

    def __new__(cls, orig_func: F | None = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
