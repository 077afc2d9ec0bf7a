"""TorchScript's own words: functions that the text calls by a bare name, and what statements do with values."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ...futures import Future
from .errors import raised
from .operators import OWN, operator
from .scalars import OF_ALL, PLAIN
from .scalars import text as text_of
from .types import described


class Closure:
    """A function of the text as a value."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


def raise_(message: Any, kind: str | None = None) -> Any:
    """Raise the exception of ``ops.prim.RaiseException``."""
    raise raised(text_of(message), kind)


def cut(value: Any, where: slice) -> Any:
    """Return a slice of a list, tuple or text."""
    if type(value) not in (list, tuple, str):
        raise RuntimeError(f"'{described(value)}' cannot be sliced")
    return value[where]


def element(value: Any, index: Any) -> Any:
    """Return an element of a list, tuple, text, dict or tensor."""
    kind = type(value)
    if kind is dict:
        if index not in value:
            raise RuntimeError(f"KeyError: {index}")
        return value[index]
    if isinstance(value, Tensor):
        return operator("aten", "select")(value, 0, index)
    if kind in (list, str) or isinstance(value, tuple):
        if not -len(value) <= index < len(value):
            raise RuntimeError(f"{'list' if kind is list else 'string' if kind is str else 'tuple'} index out of range")
        return value[index]
    raise RuntimeError(f"'{described(value)}' object is not subscriptable")


def forked(function: Any, args: list[Any]) -> Future[Any]:
    """Return the future of a function that runs at once."""
    if type(function) is not Closure:
        raise RuntimeError("fork expects a function")
    future: Future[Any] = Future()
    future.set_result(function.call(*args))
    return future


def _print(*values: Any) -> None:
    print(*(repr(value) if isinstance(value, Tensor) else text_of(value) for value in values))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "int": OWN["Int"],
    "float": OWN["Float"],
    "bool": OWN["Bool"],
    "complex": OWN["Complex"],
    "str": text_of,
    "print": _print,
    "awaitable_wait": lambda future: future.wait(),
    "range": lambda *bounds: list(range(*bounds)),
    "list": list,
    "dict": dict,
    "enumerate": enumerate,
    "zip": zip,
}
_PRIM = ("min", "max", "abs", "id")
# Words of the text that are operators: Python's functions that are no types, and device.
OPERATORS = {
    **dict.fromkeys({*dir(builtins)}.intersection(PLAIN).difference(FUNCTIONS, OF_ALL, ("slice",)), "aten"),
    "len": "aten", "device": "aten", **dict.fromkeys(_PRIM, "prim"),
}  # fmt: skip
