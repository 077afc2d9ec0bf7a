"""Kernel table: the kernel of each operation by device and dtype.

A row of the table has an operation's function of MindSpore tensors for each device, and the dtypes that it supports. For other dtypes,
``via`` names the dtype to compute in: tensor arguments are cast to it, and results cast back. The choice is made once per (operation,
dtype).
"""
from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..quiet import quiet
from . import runtime
from .arrays import Array
from .cast import cast
from .errors import not_for
from .float8 import (
    COMPLEX_HALF,
    COMPUTED,
    EXPONENTS,
    HELD,
    PAIRS,
    STORED,
    as_bytes,
    refuses,
    through_bytes,
    through_numbers,
)
from .forked import forked
from .halves import narrowed, widened
from .raw import MS_DTYPE, NP_DTYPE, Raw, from_arrays, host_array, host_face, instances, to_arrays
from .tape import grad_mode
from .turns import LOCK

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
NUMBERS = FLOATS + INTS
ALL = tuple(MS_DTYPE)
BUT_BFLOAT16 = tuple(name for name in ALL if name != "bfloat16")

# Half precision is computed in float32 and rounded once, as in torch's CPU kernels.
VIA_HALF = {"float16": "float32", "bfloat16": "float32"}
VIA_BFLOAT16 = {"bfloat16": "float32"}
VIA_SMALL_INT = {"uint8": "int32", "int8": "int32", "int16": "int32"}
VIA_BOOL = {"bool": "uint8"}

Function = Callable[..., Any]
_Kernel = TypeVar("_Kernel", bound=Function)


class Row:
    """The kernels of one operation, for each device and dtype."""

    __slots__ = ("functions", "dtypes", "via", "numpy_reason", "reasons")

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.dtypes: dict[str, frozenset[str]] = {}
        self.via: dict[str, Mapping[str, str]] = {}
        self.numpy_reason = ""
        self.reasons: dict[str, str] = {}  # by device: why it uses the CPU's kernel, or has none


ROWS: dict[str, Row] = {}


def define(
    op: str, *, cpu: Function, dtypes: tuple[str, ...] = ALL, via: Mapping[str, str] | None = None, numpy_reason: str = "",
) -> None:
    """Define an operation by its CPU kernel, with the dtypes in which it was verified against torch.

    ``numpy_reason`` marks a kernel that uses NumPy or SciPy instead of MindSpore, and explains why.
    """
    if op in ROWS:
        raise ValueError(f"the operation {op} has a row already")
    row = ROWS[op] = Row()
    row.functions["CPU"] = cpu
    row.dtypes["CPU"] = frozenset(dtypes)
    row.via["CPU"] = via or {}
    row.numpy_reason = numpy_reason


def define_on(
    device: str, op: str, function: Function, dtypes: tuple[str, ...] = ALL, via: Mapping[str, str] | None = None
) -> None:
    """Define the kernel of an operation on a device ("Ascend" or "GPU")."""
    row = _row_without(device, op)
    row.functions[device] = function
    row.dtypes[device] = frozenset(dtypes)
    row.via[device] = via or {}


def decorator_of(enter: Callable[..., None]) -> Callable[..., Callable[[_Kernel], _Kernel]]:
    """Return ``enters(op, …)``: a decorator that passes the function at which it stands to ``enter(op, function, …)``."""

    def enters(op: str, *rest: Any, **named: Any) -> Callable[[_Kernel], _Kernel]:
        def decorate(function: _Kernel) -> _Kernel:
            enter(op, function, *rest, **named)
            return function

        return decorate

    return enters


def same_on(device: str, reason: str, *ops: str) -> None:
    """Use the CPU's kernel, made of MindSpore operations, on a device; ``reason`` explains why that is correct."""
    for op in ops:
        define_on(device, op, ROWS[op].functions["CPU"])
        ROWS[op].reasons[device] = reason


def leave_to_host(device: str, dtypes: Sequence[str], *ops: str) -> None:
    """Let the CPU compute operations in dtypes for which a device's plugin has no kernel."""
    for op in ops:
        row = ROWS[op]
        row.dtypes[device] = frozenset(row.dtypes[device]) - frozenset(dtypes)
        row.via[device] = {name: other for name, other in row.via[device].items() if name not in dtypes and other not in dtypes}


def absent_on(device: str, reason: str, *ops: str) -> None:
    """Declare that a device has no kernel for operations, with a reason."""
    for op in ops:
        _row_without(device, op).reasons[device] = reason


def _row_without(device: str, op: str) -> Row:
    row = ROWS[op]
    if device in row.functions or device in row.reasons:
        raise ValueError(f"the operation {op} has an entry for {device} already")
    return row


def _computed_via(function: Function, name: str, compute: str) -> Function:
    """Wrap ``function`` to compute in the dtype ``via`` instead of the requested one, with casts before and after."""
    asked, computing = MS_DTYPE[name], MS_DTYPE[compute]

    def convert(value: Raw | list[Any] | tuple[Any, ...]) -> Raw:
        if isinstance(value, Raw):
            return cast(value, compute) if value.dtype == asked else value
        if isinstance(value, (list, tuple)):
            return type(value)(convert(item) for item in value)
        return value

    def restore(value: Raw | list[Any] | tuple[Any, ...]) -> Raw:
        if isinstance(value, Raw):
            return cast(value, name) if value.dtype == computing else value
        if isinstance(value, (list, tuple)):
            return tuple(restore(item) for item in value)
        return value

    def call(*args: Any) -> Any:
        return restore(function(*map(convert, args)))

    return call


def _begin_forked() -> None:
    """Reset the lock and drop the resolved host kernels in a forked process, where kernels that do not need MindSpore's threads replace
    them.
    """
    LOCK._at_fork_reinit()  # type: ignore[attr-defined]
    for found in _KERNELS.values():
        found.host.clear()


forked.told.append(_begin_forked)


class HostRow(NamedTuple):
    """NumPy kernel of an operation, with the dtypes in which it was verified against torch."""

    function: Function
    dtypes: frozenset[str]
    via: Mapping[str, str]
    wide: tuple[int, ...]


HOST: dict[str, HostRow] = {}
SPARE: dict[str, HostRow] = {}


def define_host(
    op: str, function: Function, dtypes: tuple[str, ...] = ALL, via: Mapping[str, str] | None = None, *, spare: bool = False,
    wide: tuple[int, ...] = (),
) -> None:  # fmt: skip
    """Define the kernel of an operation on host memory: a function of NumPy arrays that returns new memory.

    ``wide`` results (by number) stay in the ``via`` dtype. A ``spare`` kernel is used in forked processes only, as MindSpore's is faster.
    """
    rows = SPARE if spare else HOST
    if op in rows:
        raise ValueError(f"the operation {op} has a host kernel already")
    rows[op] = HostRow(function, frozenset(dtypes), via or {}, wide)


# Kernels that return views, which only MindSpore has, and host kernels for every dtype that return positions or masks.
_VIEWS = ("expand", "permute", "reshape", "slice", "view_dtype")
_NOT_MOVED = ("embedding_grad", "linear_index", "pick_along", "triangle")
_CHECKED = ("flip", "gather", "pad", "pad_like")  # torch has special checks for dtypes stored as bytes


@functools.cache
def moves(op: str) -> bool:
    """Return whether an operation only moves elements, so that its host kernel also works on dtypes stored as bytes."""
    row = HOST.get(op) or SPARE.get(op)
    if row is None:
        return op in _VIEWS
    return op == "put" or row.dtypes.issuperset(ALL) and not row.via and op not in _NOT_MOVED


def moves_bytes(op: str) -> bool:
    """Return whether an operation may run on the bytes of a dtype stored as bytes without any further check."""
    return op != "put" and moves(op) and op not in _CHECKED


DIRECT: dict[tuple[str, str], tuple[Function, int]] = {}


def define_direct(op: str, name: str, function: Function, least: int = 0) -> None:
    """Define a kernel for one dtype on host memory that bypasses the row's casts.

    The function returns None for arrays that it does not support; the usual kernel then computes them. ``least``: the function is not tried
    if the first and the last argument are arrays of fewer elements.
    """
    if (op, name) in DIRECT:
        raise ValueError(f"the operation {op} has a kernel for {name} already")
    DIRECT[op, name] = function, least


def _with_fallback(direct: Function, least: int, spare: Function) -> Function:
    """Return a kernel that calls ``direct``, and ``spare`` if that returns None; small arrays go to ``spare`` at once (see
    ``define_direct``)."""

    def call(*args: Any) -> Any:
        found = direct(*args)
        return spare(*args) if found is None else found

    def call_unless_few(*args: Any) -> Array:
        return spare(*args) if args[0].size < least and args[-1].size < least else call(*args)

    return call_unless_few if least else call


def _host_computed_via(function: Function, asked: np.dtype[Any], computing: np.dtype[Any], wide: tuple[int, ...]) -> Function:
    """Wrap a NumPy kernel to compute in another dtype than requested."""
    wider: Function = widened if computing == np.float32 else lambda array: array.astype(computing)

    def convert(value: Any) -> Any:
        if value.__class__ is np.ndarray:
            return wider(value) if value.dtype == asked else value
        if isinstance(value, (list, tuple)):
            return type(value)(convert(item) for item in value)
        return value

    def restore(value: Array | tuple[Array, ...]) -> Array | tuple[Array, ...]:
        if isinstance(value, tuple):
            return tuple(restore(item) for item in value)
        return narrowed(value, asked) if value.dtype == computing else value

    def call(*args: Any) -> Any:
        return restore(function(*map(convert, args)))

    def call_wide(*args: Any) -> Any:
        found = function(*map(convert, args))
        return tuple(part if number in wide else restore(part) for number, part in enumerate(found))

    return call_wide if wide else call


def _raw_of(value: Any) -> Any:
    if value.__class__ is np.ndarray:
        return host_face(value if value.flags.c_contiguous else np.ascontiguousarray(value).reshape(value.shape))
    if isinstance(value, (list, tuple)):
        return type(value)(_raw_of(item) for item in value)
    return value


def through_mindspore(function: Function) -> Function:
    """Wrap a kernel of MindSpore tensors as a kernel of NumPy arrays; its results own their memory."""

    def fresh(result: Raw | list[Any] | tuple[Raw, ...], given: Sequence[Array]) -> Any:
        if isinstance(result, (tuple, list)):
            return tuple(fresh(item, given) for item in result)
        if not isinstance(result, Raw):
            return result
        array = host_array(result)
        if any(np.may_share_memory(array, item) for item in given):
            return array.copy()
        return array

    def call(*args: Any) -> Any:
        with LOCK:
            return fresh(function(*map(_raw_of, args)), list(instances(args, np.ndarray)))

    return call


class HostKernel(dict[Any, Any]):
    """The functions of one operation on NumPy arrays by dtype name, resolved on first use; a dtype without a NumPy kernel gets MindSpore's.
    """

    __slots__ = ("device",)

    def __init__(self, device: Kernel) -> None:
        super().__init__()
        self.device = device

    def __missing__(self, name: str) -> Function:
        op = self.device.op
        if name in STORED:
            self[name] = function = self._of_codes(op, name)
            return function
        row = HOST.get(op)
        # In a process with a device MindSpore would compute there, and forked processes lack its threads: use NumPy's spare kernels.
        absent = row is None or (name not in row.dtypes and name not in row.via)
        if absent and op in SPARE and (forked.here or runtime.HOST_TARGET != "CPU"):
            row = SPARE[op]
        if row is not None and name in row.dtypes:
            function = row.function
        elif row is not None and name in row.via:
            function = _host_computed_via(row.function, NP_DTYPE[name], NP_DTYPE[row.via[name]], row.wide)
        else:
            function = through_mindspore(self.device.beside_host(name))
            for lend in lenders if op not in ROWS or not ROWS[op].numpy_reason else ():
                function = lend(op, name, function)
            self[name] = function
            return function
        direct = DIRECT.get((op, name))
        if direct is not None:
            function = _with_fallback(*direct, function)
        for trace in tracers:
            function = trace(op, name, "on host memory", function)
        self[name] = function
        return function

    def _of_codes(self, op: str, name: str) -> Function:
        """Return the kernel for a dtype that is stored as bytes: the uint8 kernel if the operation only moves elements, else the float32
        kernel between conversions. Raise torch's error if torch has no kernel."""
        if op == "isfinite" and name == EXPONENTS:
            return lambda array: np.ones(array.shape, np.bool_)  # torch treats NaN of this dtype as finite
        if op in ("eq", "ne") and name == PAIRS:
            of_bytes: Function = self[HELD[name]]
            return lambda *args: of_bytes(*map(as_bytes, args))
        if op == "isnan" and name == PAIRS:
            return lambda array: np.zeros(array.shape, np.bool_)
        if not moves(op) and name not in COMPUTED.get(op, ()):
            raise not_for(op, name)
        moving = through_bytes(self[HELD[name]], op, name) if moves(op) else None
        wide = "complex64" if name == COMPLEX_HALF else "float32"
        computing = through_numbers(self[wide], op, name) if not moves(op) or op == "put" else None

        def call(*args: Any) -> Any:
            refused = refuses(op, name, args)
            if refused:
                raise not_for(refused, name)
            function = computing if moving is None or op == "put" and args[3] else moving  # ``put`` may add
            return function(*args)  # at least one of the two is defined

        return call


class Kernel(dict[Any, Any]):
    """The functions of one operation, resolved by dtype name: ``kernel["float32"](raw, …)`` on MindSpore tensors,
    ``kernel.host["float32"](array, …)`` on NumPy arrays.
    """

    __slots__ = ("op", "host")

    def __init__(self, op: str) -> None:
        super().__init__()
        self.op = op
        self.host = HostKernel(self)

    def __missing__(self, name: str) -> Function:
        if name in STORED:
            self[name] = function = self._of_codes(name)
            return function
        self[name] = function = self._resolved(name, runtime.DEVICE_TARGET)
        return function

    def _of_codes(self, name: str) -> Function:
        """Return the MindSpore function for a dtype whose elements MindSpore holds as bytes: the function of bytes if the operation only
        moves elements, else a function that raises torch's error."""
        if self.op == "view_dtype":
            return lambda raw, target: self[HELD[name]](raw, HELD[target] if target in STORED else target)
        if moves_bytes(self.op):
            return self[HELD[name]]

        def refuse(*args: Any) -> Any:
            raise not_for(self.op, name, f" (mstorch, {runtime.DEVICE_TARGET})")

        return refuse

    def beside_host(self, name: str) -> Function:
        """Return MindSpore's function for host memory: the CPU's, whatever the process's device is."""
        return self[name] if runtime.DEVICE_TARGET == "CPU" else self._resolved(name, "CPU")

    def by_host(self, name: str) -> Function:
        """Return a function that computes on the CPU, with one warning per operation, for operations without a device kernel."""

        def call(*args: Any) -> Raw | tuple[Raw, ...]:
            refuse_fallback(self.op, name)
            for told in on_fallback:
                told(self.op)
            if grad_mode.enabled and _recorded(args):  # MindSpore's autograd tracks the call: the CPU's kernel has a gradient
                return self._resolved(name, "CPU")(*args)
            with quiet():
                return from_arrays(self.host[name](*map(to_arrays, args)))

        return call

    def _resolved(self, name: str, device: str) -> Function:
        row = ROWS.get(self.op)
        function = row.functions.get(device) if row is not None else None
        if device != "CPU" and row is not None and (function is None or not _takes(row, name, device)):
            return self.by_host(name)
        if row is None or function is None:
            reason = row.reasons.get(device) if row is not None else None
            raise NotImplementedError(f"mstorch: torch.{self.op} has no {device} kernel" + (f": {reason}" if reason else ""))
        if name not in row.dtypes[device]:
            compute = row.via[device].get(name)
            if compute is None:
                raise not_for(self.op, name, f" (mstorch, {device})")
            function = _computed_via(function, name, compute)
        if players and device != "CPU":
            function = players[0](self.op, function, lambda: self.host[name], lambda: self._resolved(name, "CPU"))
        for trace in tracers:
            function = trace(self.op, name, f"MindSpore on {device}", function)
        return _locked(function, "" if row.numpy_reason else self.op, device)


def _takes(row: Row, name: str, device: str) -> bool:
    return name in row.dtypes[device] or name in row.via[device]


def refuse_fallback(op: str, name: str) -> None:
    """Raise NotImplementedError if the environment disables the CPU fallback for operations without a device kernel."""
    if os.environ.get("MSTORCH_FALLBACK") == "0" or os.environ.get("TORCH_NPU_FALLBACK_CPU_DISABLE") == "1":
        row, device = ROWS.get(op), runtime.DEVICE_TARGET
        if row is not None and device in row.functions and not _takes(row, name, device):
            raise not_for(op, name, f" (mstorch, {device})")
        reason = row.reasons.get(device) if row is not None else None
        raise NotImplementedError(f"mstorch: torch.{op} has no {device} kernel" + (f": {reason}" if reason else ""))


def _recorded(values: Any) -> bool:
    return any(item._requires_grad if isinstance(item, Raw) else isinstance(item, (list, tuple)) and _recorded(item) for item in values)


on_fallback: list[Callable[[str], None]] = []
"""Functions called with the name of each operation that the CPU computes in place of a device."""


def _locked(function: Function, op: str, device: str) -> Function:
    """Wrap a function to run under the lock; ``op`` names an operation that needs MindSpore's threads, and raises in a forked process. A
    kernel that consists of one primitive of a device does both itself."""
    if device != "CPU" and getattr(function, "takes_lock", False):
        return function

    def call(*args: Any) -> Any:
        if op and forked.here:
            forked.refuse(op, device)
        with LOCK:
            return function(*args)

    return call


tracers: list[Callable[[str, str, str, Function], Function]] = []
"""Wrappers of kernels when they are resolved (operation, dtype, where, kernel), filled by ``MSTORCH_DEBUG=trace``."""

lenders: list[Callable[[str, str, Function], Function]] = []
"""Wrappers of MindSpore's kernels for host memory (operation, dtype, kernel), filled by tests on a device, which
computes them."""

players: list[Callable[..., Function]] = []
"""Wrappers that run rows of the stand-in device in host memory; empty except in tests of devices."""


def serves(op: str, name: str) -> bool:
    """Return whether the process's device has a kernel for an operation in a dtype, without casts."""
    return name in ROWS[op].dtypes.get(runtime.DEVICE_TARGET, ())


CHANGES: dict[str, Function] = {}
"""In-place device kernels by operation: they write the result into the first argument, a window of any strides, and return nothing."""
TAKEN: dict[str, Callable[..., bool]] = {}
"""By operation of ``CHANGES``: whether the kernel does what the operation's row does, for a dtype and for the arguments after the tensor.
Those that are not here do so for all."""

_KERNELS: dict[str, Kernel] = {}


def kernel(op: str) -> Kernel:
    """Return the kernel of an operation. This is cheap; a missing kernel raises on first use."""
    found = _KERNELS.get(op)
    if found is None:
        found = _KERNELS[op] = Kernel(op)
    return found
