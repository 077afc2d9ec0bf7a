"""Registers Ascend's kernels in the table: a function of raw tensors, or the name of a single primitive."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..device_memory import loses_digits
from ..primitives import LOOK_AT_STEPS, primitive, refuses_steps, watchers, with_steps
from ..primitives import run as _run
from ..raw import NAME_OF, Raw, is_contiguous, raw_dtype
from ..table import ALL, COMPLEX, HALVES, Function, absent_on, define_on, kernel, same_on
from .documented import DOCUMENTED, PAGE_OF


def run(name: str, *args: Any, at: tuple[Any, ...] = ()) -> Raw:
    """Run a primitive, with contiguous copies of the arguments if its kernel does not support strides."""
    if name in LOOK_AT_STEPS and refuses_steps(name, args):
        args = _in_rows(name, args)
    return _run(name, *args, at=at)


def _in_rows(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    found = []
    for item in args:
        if item.__class__ is tuple:
            item = _in_rows(name, item)
        elif isinstance(item, Raw) and with_steps(name, item):
            item = dense(item)
        found.append(item)
    return tuple(found)


def dense(x: Raw) -> Raw:
    """Return the tensor if it is contiguous, else a contiguous copy."""
    return x if is_contiguous(x) else _run("Contiguous", x)


def rounds(x: Raw, *numbers: float) -> bool:
    """Return whether MindSpore would round one of the numbers that it passes to a kernel of ``x``."""
    return rounds_in(NAME_OF[raw_dtype(x)], *numbers)


def rounds_in(kind: str, *numbers: float) -> bool:
    """Return whether MindSpore would round one of the numbers that it passes to a kernel of a dtype."""
    return any(loses_digits(number, kind) for number in numbers)


def scatter_add(x: Raw, dim: int, index: Raw, source: Raw) -> Raw:
    """Return ``x`` with values added where ``index`` says. MindSpore refuses complex numbers, whose parts are added one after the other."""
    if NAME_OF[raw_dtype(x)] not in COMPLEX:
        return run("ScatterAddExt", x, dim, index, source)
    parts = [run("ScatterAddExt", run(part, x), dim, index, run(part, source)) for part in ("Real", "Imag")]
    return run("Complex", *parts)


ORDERED = tuple(name for name in ALL if name not in COMPLEX)
"""Dtypes whose numbers have an order."""


def one(name: str) -> Function:
    """Return a kernel that calls one primitive with the arguments that the kernel receives."""
    return partial(run, name)


def enter(op: str, function: Function | str, dtypes: tuple[str, ...] = ALL, via: Mapping[str, str] | None = None) -> None:
    """Register the Ascend kernel of an operation: a function of MindSpore tensors, or the name of a single primitive.

    If CANN documents the kernel's dtypes, only these are registered.
    """
    if op in PAGE_OF:
        known = DOCUMENTED[PAGE_OF[op]]
        dtypes = tuple(name for name in dtypes if name in known)
        if "float32" in known:
            via = {**{name: "float32" for name in HALVES if name not in known}, **(via or {})}
    define_on("Ascend", op, one(function) if isinstance(function, str) else function, dtypes, via)


def enter_all(rows: Mapping[str, Function | str]) -> None:
    """Register the Ascend kernels of several operations, for all dtypes."""
    for op, function in rows.items():
        enter(op, function)


def by_host(op: str, x: Raw, *args: Any) -> Any:
    """Compute an operation on the CPU, for arguments that no device kernel supports."""
    return kernel(op).by_host(NAME_OF[raw_dtype(x)])(x, *args)


def of_vectors(function: Function) -> Function:
    """Wrap a function along a dimension to accept 0-d tensors, which the device's kernels reject."""

    def call(x: Raw, *args: Any) -> Raw:
        if x.shape:
            return function(x, *args)
        return run("Reshape", function(run("Reshape", x, (1,)), *args), ())

    return call


same = partial(same_on, "Ascend")
absent = partial(absent_on, "Ascend")

__all__ = [
    "absent", "by_host", "dense", "enter", "enter_all", "of_vectors", "one", "primitive", "rounds", "rounds_in", "run", "same",
    "scatter_add", "watchers",
]  # fmt: skip
