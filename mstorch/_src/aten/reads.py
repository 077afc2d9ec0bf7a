"""Decides whether an operator's arguments, its results, both, or neither are saved for backward: those that its backward formula reads, as
in torch. So the same tensors are saved with and without a dispatch mode, and writes to the same ones are refused.

The decision is made by the formula's code: the names that it uses, and those of mstorch's functions that it calls."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_HOME = __name__.partition(".")[0]
_ARGUMENTS = frozenset(("arg", "named", "saved", "_filled", "_by_itself", "NotInTerms", "_unpacked_at"))
_RESULTS = frozenset(("result", "saved", "_by_itself", "NotInTerms", "_unpacked_at"))


class Reads(NamedTuple):
    """Whether a formula reads tensors among the arguments, and whether it reads results."""

    arguments: bool
    results: bool


@functools.cache
def reads(formula: Callable[..., Any]) -> Reads:
    """Return what a formula reads: what it says itself as ``reads``, or what its code says; everything, if that is not Python's."""
    told = getattr(formula, "reads", None)
    if told is not None:
        return told
    names: set[str] = set()
    todo: list[Any] = [formula]
    done: set[types.CodeType] = set()
    while todo:
        function = todo.pop()
        while isinstance(function, functools.partial):
            todo.extend(value for value in function.args if callable(value))
            function = function.func
        if not isinstance(function, types.FunctionType):
            names |= _ARGUMENTS | _RESULTS if function is formula else set()
            continue
        for code in _codes(function.__code__):
            if code in done:
                continue
            done.add(code)
            names.update(code.co_names)
            used = [function.__globals__.get(name) for name in code.co_names]
            used += [cell.cell_contents for cell in function.__closure__ or ()]
            todo.extend(one for one in used if _is_own(one))
    return Reads(not names.isdisjoint(_ARGUMENTS), not names.isdisjoint(_RESULTS))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Return a function's code and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_own(value: Any) -> bool:
    """Return whether a value is a function of this package's formulas, which may get the node."""
    if isinstance(value, functools.partial):
        return True
    return isinstance(value, types.FunctionType) and value.__module__.startswith(f"{_HOME}._src.aten.")
