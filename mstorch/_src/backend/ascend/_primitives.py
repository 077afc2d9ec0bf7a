"""Registers Ascend's kernels in the table: a function of raw tensors, or the name of a single primitive."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..device_memory import loses_digits
from ..primitives import dense, primitive, run, watchers
from ..raw import NAME_OF, Raw, raw_dtype
from ..table import ALL, COMPLEX, HALVES, Function, absent_on, decorator_of, define_on, kernel, same_on
from .documented import DOCUMENTED, PAGE_OF


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
    kernel_ = partial(run, name)
    kernel_.takes_lock = True  # type: ignore[attr-defined]
    return kernel_


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


enters = decorator_of(enter)


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
    "absent", "by_host", "dense", "enter", "enters", "of_vectors", "one", "primitive", "rounds", "rounds_in", "run", "same",
    "scatter_add", "watchers",
]  # fmt: skip
