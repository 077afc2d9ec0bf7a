"""Context managers as decorators of generator functions; the handlers of modes."""
from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any


def plain_method(mode: Any, name: str) -> Callable[..., Any]:
    """Return a mode's handler. Raise torch's error if it is a classmethod."""
    found = getattr(mode, name)
    if isinstance(getattr(found, "__self__", None), type):
        raise RuntimeError(f"Defining your mode's `{name}` as a classmethod is not supported, please make it a plain method")
    return found


def around_generator(made: Callable[[], AbstractContextManager[Any]], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a generator function that enters a new context from ``made()`` whenever the generator is resumed, and leaves it at each yield.
    """

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[..., Any] = generator.send
        value: Any = None
        while True:
            try:
                with made():
                    response = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                step, value = generator.send, (yield response)
            except GeneratorExit:
                with made():
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001  # whatever is thrown in belongs to the generator
                step, value = generator.throw, error

    return decorated
