"""How torch's functions, methods and modules come to know proxies while code is traced.

Everything that a general ``__torch_function__`` will make superfluous stands in this file. A function that was imported by
name, or kept in an attribute, is met as well, because the function object itself changes: its code calls ``_Entry`` as long as
something is traced.
"""
from __future__ import annotations

import contextlib
import functools
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

from .._tensor import Tensor
from .proxy import Proxy

_ROOMS = ("_ops", "_functions", "nn._functional", "nn.functional", "linalg", "special", "fft", "_sparse")
_PLACES = ("", ".nn.functional", ".linalg", ".special", ".fft")
_NOT_RECORDED = frozenset({"is_tensor", "__init__", "__new__", "__getattr__", "__setattr__", "__hash__", "__repr__"})
# Where Python has a second try, on the side of the other operand, a tensor's operator leaves it to the proxy.
_REFLECTED = frozenset(
    f"__{name}__" for name in "add sub mul floordiv truediv mod pow lshift rshift and or xor matmul eq ne lt gt le ge".split()
)
_lock = threading.RLock()
_active: dict[types.FunctionType, types.CodeType] = {}
_depth = [0]


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
    # A function may be a method as well. A proxy's own methods come here by their names, so this one is of a tensor.
    if args and isinstance(args[0], Tensor) and _method(name) is function:
        if name == "__getitem__":
            return proxy.tracer.create_proxy("call_function", operator.getitem, args, kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return proxy.tracer.create_proxy("call_function", function, args, kwargs)


def _method(name: str) -> Any:
    return next((vars(base)[name] for base in Tensor.__mro__ if name in vars(base)), None)


class _Entry:
    """Takes a function's calls: those with proxies are recorded, others run."""

    def __init__(self, function: types.FunctionType, is_method: bool) -> None:
        self.function = function
        self.reflected = is_method and function.__name__ in _REFLECTED
        self.original = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__  # type: ignore[assignment]

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _proxy_in(args) is None and _proxy_in(kwargs.values()) is None:
            return self.original(*args, **kwargs)
        if self.reflected:
            return NotImplemented
        return record(self.function, args, kwargs)


def _template(*args: Any, **kwargs: Any) -> Any:
    return "entry".__call__(args, kwargs)  # type: ignore[operator]  # the string stands for an entry


def _code(entry: _Entry) -> types.CodeType:
    old = entry.function.__code__
    constants = tuple(entry if constant == "entry" else constant for constant in _template.__code__.co_consts)
    return _template.__code__.replace(
        co_consts=constants, co_freevars=old.co_freevars, co_name=old.co_name, co_filename=old.co_filename
    )


@functools.cache
def _functions() -> dict[types.FunctionType, bool]:
    """The functions that know proxies, with whether they are methods of tensors."""
    package = __name__.partition(".")[0]
    rooms = tuple(f"{package}.{room}" for room in _ROOMS)
    homes = {name + place for name in (package, "torch") for place in _PLACES}
    found: dict[types.FunctionType, bool] = {}
    for place in _PLACES:
        for name, value in vars(sys.modules[package + place]).items():
            if isinstance(value, types.FunctionType) and name not in _NOT_RECORDED:
                if value.__module__.startswith(rooms) or value.__module__ in homes:
                    found.setdefault(value, False)
    for base in Tensor.__mro__[:-1]:
        for name, value in vars(base).items():
            if isinstance(value, types.FunctionType) and name not in _NOT_RECORDED:
                found[value] = True
    return found


@contextlib.contextmanager
def proxies_allowed() -> Iterator[None]:
    """Torch's functions and methods take proxies inside."""
    with _lock:
        _depth[0] += 1
        try:
            if _depth[0] == 1:
                for function, is_method in _functions().items():
                    _active[function] = function.__code__
                    function.__code__ = _code(_Entry(function, is_method))
            yield
        finally:
            _depth[0] -= 1
            if _depth[0] == 0:
                for function, code in _active.items():
                    function.__code__ = code
                _active.clear()


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
