"""Cost of operations on a device, from the kernel table: which have no kernel, and which read the device's memory."""
from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from ..._src.backend import ascend, gpu  # noqa: F401 - they fill the table with the rows of devices
from ..._src.backend.table import ROWS, Kernel
from ..._src.core.built_in import written
from . import names

DEVICES = {"ascend": "Ascend", "npu": "Ascend", "gpu": "GPU", "cuda": "GPU"}
_READS = {
    "item": "waits for the device and reads one number", "tolist": "waits for the device and reads all numbers",
    "numpy": "needs .cpu() first, which waits for the device", "nonzero": "waits for the device: the result's size is a value",
    "masked_select": "waits for the device: the result's size is a value", "unique": "waits for the device: the result's size is a value",
    "bincount": "waits for the device: the result's size is a value", "equal": "waits for the device and reads one number",
    "allclose": "waits for the device and reads one number", "argwhere": "waits for the device: the result's size is a value",
}  # fmt: skip

_SELDOM = frozenset(("norm", "matrix_norm", "vector_norm"))  # functions that need a factorization for a few arguments only


@functools.cache
def absent_rows(device: str) -> dict[str, str]:
    """Return the rows for which a device has no kernel, with the reasons."""
    return {name: row.reasons.get(device, "") for name, row in ROWS.items() if device not in row.functions and device in row.reasons}


@functools.cache
def falls_back(dotted: str, device: str) -> str | None:
    """Return why an operation is computed on the CPU; None if the device has a kernel, or if this cannot be determined."""
    last = dotted.rpartition(".")[2].removesuffix("_")
    if last in _SELDOM:
        return None
    rows = absent_rows(device)
    if last in rows:
        return rows[last]
    return next((rows[name] for name in sorted(_rows_of(names.found(dotted)[0])) if name in rows), None)


def _rows_of(function: Any, depth: int = 4) -> set[str]:
    """Return the kernels that an operation's function uses, directly or through functions of its own package."""
    plain = inspect.unwrap(written(function)) if isinstance(function, (types.FunctionType, types.BuiltinFunctionType)) else None
    if not isinstance(plain, types.FunctionType) or not (plain.__module__ or "").startswith(_ROOMS):
        return set()
    found: set[str] = set()
    for cell in plain.__closure__ or ():
        found |= _named(cell.cell_contents)
    for code in (plain.__code__, *(value for value in plain.__code__.co_consts if isinstance(value, types.CodeType))):
        for value in code.co_consts:
            found |= _named(value)
        for name in code.co_names if depth else ():
            if name in plain.__globals__ and name not in _SHARED:
                value = plain.__globals__[name]
                found |= {value.op} if isinstance(value, Kernel) else _rows_of(value, depth - 1)
    return found


def _named(value: Any) -> set[str]:
    return {value} if isinstance(value, str) and value in ROWS else set()


_ROOMS = tuple(f"{__name__.partition('.')[0]}._src.ops.{family}" for family in ("linalg.linalg", "signal.fft", "elementwise.special"))
_SHARED = frozenset(("call", "unary", "binary", "elementwise", "deliver", "in_place"))


def reads(name: str) -> str | None:
    """Return a text that says why a function or method waits for a device, if it reads the device's memory; else None."""
    return _READS.get(name)
