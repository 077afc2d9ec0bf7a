"""Symbolic numbers: classes that no value here is an instance of, and functions that compute with Python's numbers."""
from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any


class _Symbol:
    def __init__(self, node: Any) -> None:
        self.node = node


class SymInt(_Symbol):
    """An integer that is not known yet. Shapes are always known here: for ``isinstance`` only."""


class SymFloat(_Symbol):
    """A number that is not known yet; for ``isinstance`` only."""


class SymBool(_Symbol):
    """A truth value that is not known yet; for ``isinstance`` only."""


def sym_not(a: Any) -> Any:
    """``not a``."""
    return not a


def sym_float(a: Any) -> float:
    """``float(a)``."""
    return builtins.float(a)


def sym_int(a: Any) -> int:
    """``int(a)``."""
    return builtins.int(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is."""
    return _as_one(builtins.max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is."""
    return _as_one(builtins.min(a, b), a, b)


def _as_one(result: Any, a: Any, b: Any) -> Any:
    return builtins.float(result) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else result


def sym_sum(args: Iterable[Any]) -> Any:
    """``sum(args)``."""
    return builtins.sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``, of one type."""
    if not (isinstance(b, builtins.bool) and type(t) is type(f)):
        raise AssertionError(f"expected bool and matching types, got {type(b)}, {type(t)}, {type(f)}")
    return t if b else f


def sym_fresh_size(expr: Any) -> Any:
    """Raises NotImplementedError: sizes are known here."""
    raise NotImplementedError


def _of_math(name: str) -> Any:
    compute = getattr(math, name)

    def function(a: Any) -> Any:
        return compute(a)

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"``math.{name}(a)``."
    return function


_sym_sqrt, _sym_cos, _sym_cosh, _sym_sin, _sym_sinh, _sym_tan, _sym_tanh, _sym_asin, _sym_acos, _sym_atan, _sym_log2 = map(
    _of_math, ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")
)
sym_sqrt = _sym_sqrt
