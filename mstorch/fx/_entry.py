"""How torch's functions, methods and modules come to know proxies while code is traced."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ..overrides import is_tensor_method_or_property
from .proxy import Proxy


def _proxy_in(values: Any) -> Proxy | None:
    for value in values:
        if isinstance(value, Proxy):
            return value
        if isinstance(value, (tuple, list)):
            found = _proxy_in(value)
        elif isinstance(value, dict):
            found = _proxy_in(value.values())
        elif isinstance(value, slice):
            found = _proxy_in((value.start, value.stop, value.step))
        else:
            continue
        if found is not None:
            return found
    return None


def record(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The node of a call with a proxy among the arguments; a method's, if the function is a method of tensors."""
    proxy = _proxy_in((*args, *kwargs.values()))
    assert proxy is not None
    name = function.__name__
    if is_tensor_method_or_property(function):
        if name == "__getitem__":
            return proxy.tracer.create_proxy("call_function", operator.getitem, args, kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return proxy.tracer.create_proxy("call_function", function, args, kwargs)


class Patches:
    """Replaces attributes and items for a while."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Give an attribute another value."""
        own = name in vars(owner)
        before = getattr(owner, name)
        self._undo.append((lambda: setattr(owner, name, before)) if own else (lambda: delattr(owner, name)))
        setattr(owner, name, value)

    def item(self, owner: dict[str, Any], name: str, value: Any) -> None:
        """Give an item another value, or add it."""
        missing = object()
        before = owner.get(name, missing)

        def undo() -> None:
            if before is missing:
                owner.pop(name, None)
            else:
                owner[name] = before

        self._undo.append(undo)
        owner[name] = value

    def __enter__(self) -> Patches:
        return self

    def __exit__(self, *error: Any) -> None:
        while self._undo:
            self._undo.pop()()


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls with proxies are recorded."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        proxy = _proxy_in((*args, *kwargs.values()))
        return function(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", function, args, kwargs)

    return recorded
