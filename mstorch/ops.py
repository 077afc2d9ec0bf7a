"""torch.ops: operations under the names of torch's own library, ``torch.ops.aten.add.Tensor(a, b)``.

Differs from torch: an operation is one function that takes every overload, so that the overload's name only selects it.
"""
from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, NoReturn

from ._library import aten as aten_only
from ._library import registry


class OpOverload:
    """One overload of an operation: calling it calls the operation."""

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket = packet
        self._overloadname = name
        self.__name__ = f"{packet.__name__}.{name}"
        self.__module__ = packet.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.overloadpacket(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"


class OpOverloadPacket:
    """An operation with all its overloads."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"  # as torch says; generated code asks torch.ops
        self._namespace = namespace
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("_"):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        overload = self.__dict__[name] = OpOverload(self, name)
        return overload

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"


class CustomPacket(OpOverloadPacket):
    """An operator that a program defined (``torch.library``), with all its overloads."""

    def __init__(self, namespace: str, name: str, defined: dict[str, registry.Operator]) -> None:
        super().__init__(namespace, name, defined[min(defined)])
        self._qualname = f"{namespace}::{name}"
        self._defined = defined

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return [name or "default" for name in self._defined]

    def __getattr__(self, name: str) -> OpOverload:
        found = self._defined.get("" if name == "default" else name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        overload = self.__dict__[name] = CustomOverload(self, name, found)
        return overload


class CustomOverload(OpOverload):
    """One overload of an operator that a program defined."""

    def __init__(self, packet: OpOverloadPacket, name: str, operator: registry.Operator) -> None:
        super().__init__(packet, name)
        self._operator = operator
        self._schema = operator.schema
        self._qualname = operator.title + (f".{operator.schema.overload}" if operator.schema.overload else "")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)


class _Namespace:
    """The operations of one library: torch's own in ``aten``, and those that programs define."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        defined = {overload: op for (space, own, overload), op in registry.operators.items() if (space, own) == (self._name, name)}
        if defined:
            return CustomPacket(self._name, name, defined)
        if self._name == "profiler":
            function = vars(importlib.import_module("mstorch._library.profiler")).get(name) if name.startswith("_record") else None
        else:
            function = None if self._name != "aten" or name.startswith("__") else _find(name)
        if function is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        packet = self.__dict__[name] = OpOverloadPacket(self._name, name, function)
        return packet

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"


def _find(name: str) -> Callable[..., Any] | None:
    """The function or method of that name."""
    package = importlib.import_module(__package__ or "mstorch")
    native = importlib.import_module("mstorch._ops.native")
    for place in (vars(aten_only), vars(package), vars(native), vars(package.nn.functional), dict(vars(package.Tensor))):
        found = place.get(name)
        if callable(found) and not isinstance(found, type):
            return found
    return None


aten = _Namespace("aten")
loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike[str]) -> NoReturn:
    """Raises OSError: what is compiled for torch does not run here."""
    raise OSError(f"Could not load this library: {os.path.realpath(path)} (compiled for torch; mstorch loads no such libraries)")


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    return globals().setdefault(name, _Namespace(name))
