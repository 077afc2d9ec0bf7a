"""Functions of torch's modules for missing devices, generated from a table: each returns a value or raises torch's error."""
from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..core.device import device

NO_STATS: Any = OrderedDict()


def _signature(parameters: str) -> inspect.Signature:
    """Parse a list of parameters with plain defaults into a signature."""
    made = []
    for part in filter(None, parameters.split(", ")):
        name, equals, default = part.partition("=")
        value: Any = {"None": None, "True": True, "False": False, "": inspect.Parameter.empty}.get(default, default.strip("'"))
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        made.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value if equals else inspect.Parameter.empty))
    return inspect.Signature(made)


def face(module: str, name: str, parameters: str, outcome: Any) -> Callable[..., Any]:
    """Return a function with the given parameters that returns the outcome, or raises it if it is an exception."""
    signature = _signature(parameters)

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        if isinstance(outcome, BaseException):
            raise type(outcome)(*outcome.args)
        return copy.copy(outcome)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__signature__ = signature  # type: ignore[attr-defined]
    said = f"Raise {type(outcome).__name__}: {outcome}" if isinstance(outcome, BaseException) else f"Return {outcome!r}"
    function.__doc__ = f"{said.rstrip('.')}. This process has no such device."
    return function


def faces(module: str, *rows: tuple[Any, str]) -> dict[str, Callable[..., Any]]:
    """Return functions by name, from rows of an outcome and its functions: ``name(parameters); name(parameters)``."""
    made = {}
    for outcome, functions in rows:
        for text in functions.split("; "):
            name, _, parameters = text.rstrip(")").partition("(")
            made[name] = face(module, name, parameters, outcome)
    return made


def dummy(module: str, name: str, error: BaseException) -> type:
    """Return a placeholder class that cannot be instantiated without its device."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise type(error)(*error.args)

    text = f"Not to be had without its device: the constructor raises {type(error).__name__}."
    return type(name, (), {"__new__": refuse, "__module__": module, "__doc__": text})


class NoSwitch:
    """Context manager without effect, for a machine without a device to select."""

    def __init__(self, device: int | str | device | None = None) -> None:
        self.idx = -1 if device is None else device
        self.prev_idx = -1

    def __enter__(self) -> Any:
        return None

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        return None


class StreamContext:
    """Context manager that selects a stream; without a device only None."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> Any:
        return None

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        return None
