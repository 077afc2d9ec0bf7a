"""Which kernel serves which operation, per device and dtype.

A row says, for one operation, the function of raw tensors that each device uses and the dtypes that function takes.
Where a kernel does not take a dtype, ``via`` names the dtype to compute in: every tensor argument of the asked dtype is
converted, and results of the computing dtype are converted back. The choice is made once per (operation, dtype).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import runtime
from .cast import cast
from .raw import MS_DTYPE, Raw

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
UINTS = ("uint16", "uint32", "uint64")
NUMBERS = FLOATS + INTS
ALL = tuple(MS_DTYPE)
BUT_BFLOAT16 = tuple(name for name in ALL if name != "bfloat16")

# Half precision computes in float32 and rounds once, as torch's CPU kernels do.
VIA_HALF = {"float16": "float32", "bfloat16": "float32"}
VIA_BFLOAT16 = {"bfloat16": "float32"}
VIA_SMALL_INT = {"uint8": "int32", "int8": "int32", "int16": "int32"}
VIA_INT64 = {"uint8": "int64", "int8": "int64", "int16": "int64", "int32": "int64"}
VIA_BOOL = {"bool": "uint8"}

Function = Callable[..., Any]


class Row:
    """One operation's kernels."""

    __slots__ = ("functions", "dtypes", "via", "numpy_reason")

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.dtypes: dict[str, frozenset[str]] = {}
        self.via: dict[str, Mapping[str, str]] = {}
        self.numpy_reason = ""


ROWS: dict[str, Row] = {}


def define(
    op: str,
    *,
    cpu: Function | None = None,
    dtypes: tuple[str, ...] = ALL,
    via: Mapping[str, str] | None = None,
    ascend: Function | None = None,
    gpu: Function | None = None,
    numpy_reason: str = "",
) -> None:
    """Enter an operation: its CPU kernel with the dtypes that it was held against torch for, and the devices' own.

    ``ascend`` and ``gpu`` default to the CPU function when that is made of MindSpore ops. ``numpy_reason`` marks a
    kernel that leaves MindSpore for NumPy or SciPy and says why there is no other.
    """
    if op in ROWS:
        raise ValueError(f"the operation {op} has a row already")
    row = ROWS[op] = Row()
    if cpu is not None:
        row.functions["CPU"] = cpu
        row.dtypes["CPU"] = frozenset(dtypes)
        row.via["CPU"] = via or {}
    for device, function in (("Ascend", ascend), ("GPU", gpu)):
        chosen = function or (None if numpy_reason else cpu)
        if chosen is not None:
            row.functions[device] = chosen
            row.dtypes[device] = frozenset(ALL)
            row.via[device] = {}
    row.numpy_reason = numpy_reason


def _through(function: Function, name: str, compute: str) -> Function:
    """``function`` computed in another dtype than the one asked for."""
    asked, computing = MS_DTYPE[name], MS_DTYPE[compute]

    def convert(value: Any) -> Any:
        if isinstance(value, Raw):
            return cast(value, compute) if value.dtype == asked else value
        if isinstance(value, (list, tuple)):
            return type(value)(convert(item) for item in value)
        return value

    def restore(value: Any) -> Any:
        if isinstance(value, Raw):
            return cast(value, name) if value.dtype == computing else value
        if isinstance(value, (list, tuple)):
            return tuple(restore(item) for item in value)
        return value

    def call(*args: Any) -> Any:
        return restore(function(*map(convert, args)))

    return call


class Kernel(dict):
    """The resolved functions of one operation, by dtype name: ``kernel["float32"](raw, …)``."""

    __slots__ = ("op",)

    def __init__(self, op: str) -> None:
        super().__init__()
        self.op = op

    def __missing__(self, name: str) -> Function:
        device = runtime.DEVICE_TARGET
        row = ROWS.get(self.op)
        function = row.functions.get(device) if row is not None else None
        if row is None or function is None:
            raise NotImplementedError(f"mstorch: torch.{self.op} has no {device} kernel")
        if name not in row.dtypes[device]:
            compute = row.via[device].get(name)
            if compute is None:
                raise NotImplementedError(f'"{self.op}" not implemented for {torch_type_name(name)} (mstorch, {device})')
            function = _through(function, name, compute)
        self[name] = function
        return function


_TYPE_NAMES = {
    "bool": "'Bool'", "uint8": "'Byte'", "int8": "'Char'", "int16": "'Short'", "int32": "'Int'", "int64": "'Long'",
    "uint16": "'UInt16'", "uint32": "'UInt32'", "uint64": "'UInt64'", "float16": "'Half'", "bfloat16": "'BFloat16'",
    "float32": "'Float'", "float64": "'Double'", "complex64": "'ComplexFloat'", "complex128": "'ComplexDouble'",
}  # fmt: skip


def torch_type_name(name: str) -> str:
    """The scalar type's name in torch's error messages: ``'Half'`` for float16."""
    return _TYPE_NAMES.get(name) or f"'{name}'"


_KERNELS: dict[str, Kernel] = {}


def kernel(op: str) -> Kernel:
    """The kernel of an operation. Asking is free; a missing one raises when it is first used."""
    found = _KERNELS.get(op)
    if found is None:
        found = _KERNELS[op] = Kernel(op)
    return found
