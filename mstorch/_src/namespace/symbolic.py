"""Symbolic numbers, of which only lengths of ragged dimensions exist, and functions that compute with Python numbers."""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..backend.arrays import Number
from ..core import overriding
from ..core.public_names import IN_PYTHON

if TYPE_CHECKING:
    from ...nested._internal.nested_int import NestedIntNode


class _Symbol:
    is_symbolic_number = True

    def __init__(self, node: NestedIntNode) -> None:
        self.node = node


class SymInt(_Symbol):
    """Symbolic integer: the length of a ragged dimension (``nested._internal.nested_int``). All other lengths are plain integers."""

    def _compared(self, name: str, other: Any) -> Any:
        if not isinstance(other, (SymInt, builtins.int)):
            return NotImplemented
        return getattr(self.node, name)(other.node if isinstance(other, SymInt) else self.node.wrap_int(other))

    def __eq__(self, other: Any) -> Any:
        return self._compared("eq", other)

    def __ne__(self, other: Any) -> Any:
        return self._compared("ne", other)

    def __ge__(self, other: Number) -> Any:
        return self._compared("ge", other)

    def __gt__(self, other: Number) -> Any:
        return self._compared("gt", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("le", other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("lt", other)

    def __mul__(self, other: Number) -> Any:
        found = self._compared("mul", other)
        return found if found is NotImplemented else SymInt(found)

    __rmul__ = __mul__

    def __hash__(self) -> builtins.int:
        return hash(self.node.nested_int())

    def __repr__(self) -> str:
        return str(self.node)


class SymFloat(_Symbol):
    """Symbolic float; for ``isinstance`` only."""


class SymBool(_Symbol):
    """Symbolic bool; for ``isinstance`` only."""


def sym_not(a: bool) -> Any:
    """Return ``not a``."""
    return not a


def sym_float(a: int) -> float:
    """Return ``float(a)``."""
    return builtins.float(a)


def sym_int(a: Any) -> int:
    """Return ``int(a)``."""
    return builtins.int(a)


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger number; a float if either of the two is a float."""
    return _as_one(builtins.max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller number; a float if either of the two is a float."""
    return _as_one(builtins.min(a, b), a, b)


def _as_one(result: float, a: float, b: float) -> float:
    return builtins.float(result) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else result


def sym_sum(args: Iterable[Any]) -> Any:
    """Return ``sum(args)``."""
    return builtins.sum(args)


def sym_ite(b: bool, t: int, f: int) -> Any:
    """Return ``t if b else f``; both must have the same type."""
    if not (isinstance(b, builtins.bool) and type(t) is type(f)):
        raise AssertionError(f"expected bool and matching types, got {type(b)}, {type(t)}, {type(f)}")
    return t if b else f


def sym_fresh_size(expr: Any) -> Any:
    """Raise NotImplementedError: mstorch has no symbolic sizes."""
    raise NotImplementedError


def _of_math(name: str) -> Callable[..., Any]:
    compute = getattr(math, name)

    def function(a: Any) -> Any:
        if overriding.mode_is_on() or overriding.overrides(a):
            found = overriding.ask(function, [a] if overriding.overrides(a) else [], (a,), {})
            if found is NotImplemented:
                name = f"torch.{function.__name__}"
                raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: [{type(a)}]")
            return found
        return compute(a)

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"Return ``math.{name}(a)``."
    return function


FUNCTIONS = {f"_sym_{name}": _of_math(name) for name in vars(math) if f"_sym_{name}" in IN_PYTHON[""]}
"""Functions of Python numbers (``_sym_sqrt`` calls ``math.sqrt``), by torch's names."""
sym_sqrt = FUNCTIONS["_sym_sqrt"]
