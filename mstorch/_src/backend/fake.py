"""The stand-in device of tests (MSTORCH_FAKE_DEVICE=Ascend): the CPU behaves as an Ascend device.

Rows of Ascend run if their primitives have CPU kernels; otherwise the host's row computes, and the call is counted. Reads of values count
as transfers.
"""
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..leaving import item_set_to
from ..quiet import quiet as silenced
from . import device_memory, runtime
from .arrays import Array, Number
from .cast import timed as timed_casts
from .forked import forked
from .mindspore_errors import NO_KERNEL, meaning
from .primitives import VIEWS, refuses_steps, run, watchers
from .raw import NAME_OF, Raw, from_arrays, from_numpy, to_arrays
from .table import kernel
from .tape import is_recording

# CPU kernels with wrong results (2.10).
WRONG = {
    "Scatter", "NextAfter",  # omits elements sometimes; wrong results
    "Tanh", "Erfinv", "Softmax",  # errors larger than rounding, or wrong results next to a NaN
    "Expm1", "Log1p", "EluExt",  # multiples of 1.2e-7 near 0
    "Exp", "Log", "Digamma", "Sinc",  # 4e-6 and no subnormal results, 1e-4 about 1, single precision in double, NaN in half precision
    "Div", "Pow",  # 1 / -0.0 is inf, NaN / 0.0 -inf, complex 0 / 0 is 0; powers of uint8 do not wrap
    "BinaryCrossEntropy",  # the probabilities are kept from 0 and 1, which limits a loss to 27.6
    "GridSampler2D", "GridSampler2DGrad", "GridSampler3D", "GridSampler3DGrad",  # NaN, and writes beyond the ends of short rows
    "HSigmoidGrad", "SoftShrinkGrad", "HShrinkGrad",
    "ReduceMax", "ReduceMin", "Maximum", "Minimum", "ReLU", "ReluGrad", "HSwish", "ClampTensor", "SoftShrink", "HShrink",
    "SoftplusExt", "AdaptiveMaxPool2D",  # lose a NaN
    "LeftShift", "RightShift", "Xlogy", "DivMod",  # too large shift counts, infinity times zero, division by zero
    "InplaceCopy",  # does not write through strided views
    "UpsampleNearest2D", "UpsampleNearest3D",  # uses the sizes even if factors are given
    "NLLLoss",  # leaves ignored elements uninitialized
    "SearchSorted",  # treats NaN at the end of a sequence as the smallest number
}

SIZED_BY_VALUES = frozenset(("NonZero",))
"""Primitives whose results are as long as values say: the host waits for the device, which counts as a read."""

computed: Counter[str] = Counter()
"""Calls of operations that the Ascend kernel computed."""
replaced: Counter[str] = Counter()
"""Calls of operations that the host's kernel computed in place of the Ascend kernel."""
transfers: Counter[str] = Counter()
"""Reads of values from the device, by the requesting line."""
asked: Counter[str] = Counter()
"""Calls of primitives, with or without a CPU kernel."""
strided: Counter[str] = Counter()
"""Calls of primitives with a tensor whose strides Ascend's kernel refuses."""
observers: list[Callable[..., None]] = []
"""Observers of results computed by Ascend rows: ``observer(op, result, host row, arguments)``."""


class Lacking(Exception):
    """Raised when the CPU has no kernel for a primitive."""


on_kernel: list[Callable[[str], None]] = []
"""Functions called with the name of each kernel that runs: the primitive's, or the operation's in parentheses if the host computes it."""
on_transfer: list[Callable[[], None]] = []
"""Functions called at each read of values from the device."""
on_time: list[Callable[[float], None]] = []
"""Functions called with the seconds that a kernel took."""

_lacking: set[str] = set()
_quiet = [0]
_rows = [0]  # at work
_seen: list[str] = []


def quiet() -> bool:
    """Return True while the stand-in device computes in host memory for its own purposes; such reads are not counted."""
    return bool(_quiet[0])


def _watch(name: str, primitive: Callable[..., Any], args: tuple[Any, ...]) -> Raw:
    asked[name] += 1
    if refuses_steps(name, args):
        strided[name] += 1
    # MindSpore's autograd only tracks its own kernels: another kernel's result would silently have no gradient.
    recorded = is_recording() and any(isinstance(item, Raw) for item in args)
    if name in _lacking or (name in WRONG and not recorded):
        raise Lacking(name)
    try:
        found = primitive(*args)
        _seen.append(name)
        if name in SIZED_BY_VALUES and not _quiet[0]:
            _read(name)
        return found
    except (RuntimeError, TypeError, ValueError) as error:
        if meaning(error) is NO_KERNEL:
            if not _empty(args):
                _lacking.add(name)
            raise Lacking(name) from None
        if error.__class__ is RuntimeError and _empty(args):  # CPU kernels that reject empty tensors, with messages of their own
            raise Lacking(name) from None
        raise


def _empty(args: Any) -> bool:
    """Return whether one of the arguments is an empty tensor."""
    return any(item.size == 0 if isinstance(item, Raw) else isinstance(item, (list, tuple)) and _empty(item) for item in args)


def uncounted() -> item_set_to:
    """Context manager in which reads of device memory are not counted in ``transfers``."""
    return item_set_to(_quiet, 0, _quiet[0] + 1)


def played(
    op: str, row: Callable[..., Any], host: Callable[[], Callable[..., Any]], of_cpu: Callable[[], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a function that computes an Ascend kernel on the CPU: by the kernel's primitives if they have CPU kernels, else by the host's
    kernel, or by the CPU's while MindSpore records gradients.
    """

    def call(*args: Any) -> Any:
        began, before = time.thread_time(), len(_seen)
        _rows[0] += 1
        try:
            found = row(*args)
        except Lacking:
            replaced[op] += 1
            _report_kernels([f"({op})"])
            if is_recording():
                found = of_cpu()(*args)
            else:
                with uncounted(), silenced():
                    found = from_arrays(host()(*map(to_arrays, args)))
        else:
            computed[op] += 1
            _report_kernels(_seen[before:])
            for observer in observers:
                observer(op, found, host, args)
        finally:
            _rows[0] -= 1
            _report_time(began)
        return found

    return call


def _report_kernels(names: list[str]) -> None:
    _seen.clear()
    for name in names:
        if name not in VIEWS:
            for told in on_kernel:
                told(name)


def _report_time(began: float) -> None:
    """Report a kernel's time since ``began`` to the callbacks in ``on_time``. It includes the overhead of the stand-in device."""
    if on_time:
        passed = time.thread_time() - began
        for told in on_time:
            told(passed)


def _timed(function: Callable[[], Any]) -> Raw:
    began = time.thread_time()
    try:
        return function()
    finally:
        _report_time(began)


class StandIn:
    """Factories of device memory and writes into it, emulated in CPU memory."""

    @staticmethod
    def factory(name: str, args: tuple[Any, ...], host: Callable[[], Any]) -> Raw:
        """Return new memory from the primitive, or from the host if the CPU has no kernel for it."""
        began = time.thread_time()
        try:
            found = run(name, *args)
        except Lacking:
            with uncounted():
                found = from_numpy(host())
        _report_kernels([name])
        _report_time(began)
        return found

    @staticmethod
    def write(name: str, base: Raw, shape: Sequence[int], strides: Sequence[int], offset: int, new: Raw | Number) -> Raw:
        """Write to a strided view through NumPy, and return the base. A base that is itself a view is first copied; the copy is then
        written to and returned."""
        forked.refuse_device()
        began = time.thread_time()
        with uncounted():
            base, target = _shown(base, shape, strides, offset)
            _refuse_overlap(target, (new,))
            target[...] = new.asnumpy() if isinstance(new, Raw) else new
        written["bytes"] += target.nbytes
        written[name] += 1
        _report_kernels([name])
        _report_time(began)
        return base

    @staticmethod
    def change(base: Raw, shape: Sequence[int], strides: Sequence[int], offset: int, op: str, args: tuple[Any, ...]) -> Raw:
        """Compute an operation in place on a strided view by the host's kernel; return the base."""
        began = time.thread_time()
        with uncounted(), silenced():
            base, target = _shown(base, shape, strides, offset)
            _refuse_overlap(target, args)
            target[...] = changed(op, np.array(target, order="C"), NAME_OF[base.dtype], args)
        # An index writes its source; other operations write a part of a tensor, or are the kernel that makes the whole.
        written["bytes"] += args[0].nbytes if op in _BY_INDEX else target.nbytes if target.size < base.size else 0
        written[op] += 1
        _report_kernels([f"({op} in place)"])
        _report_time(began)
        return base


_BY_INDEX = ("put", "index_put", "index_write", "scatter")


def _refuse_overlap(target: Array, values: Any) -> None:
    """Raise AssertionError if a kernel would read memory that it writes, which is undefined on a device."""
    for value in values:
        if isinstance(value, (tuple, list)):
            _refuse_overlap(target, value)
        elif isinstance(value, Raw) and value.size:
            assert not np.may_share_memory(target, value.asnumpy()), "a kernel is told to read what it writes"


def changed(op: str, array: Array, name: str, args: tuple[Any, ...]) -> Array:
    """Return the first operand after an in-place device kernel has changed it; ``array`` is a copy of the operand."""
    if op == "masked_fill":
        mask, value = map(to_arrays, args)
        return kernel("where").host[name](mask, value, array)
    if op != "index_put":
        return kernel(op).host[name](array, *map(to_arrays, args))
    source, indices, adding = map(to_arrays, args)
    if adding:
        places = np.arange(array.size).reshape(array.shape)[indices]
        return kernel("put").host[name](array, np.broadcast_to(source, places.shape), places, True)
    array[indices] = source
    return array


def _shown(base: Raw, shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[Raw, Array]:
    """Return the base, and a strided NumPy view of its memory. A base that is a view is first replaced by a copy."""
    face = base.asnumpy()
    if not np.may_share_memory(face, base.asnumpy()):
        base = from_numpy(np.array(face, order="C"))
        face = base.asnumpy()
    return base, np.lib.stride_tricks.as_strided(face.reshape(-1)[offset:], shape, [step * face.itemsize for step in strides])


written: Counter[str] = Counter()
"""Writes into memory by the primitive that a device would make them with, and the ``bytes`` that they wrote."""


def _read(name: str) -> None:
    transfers[name] += 1
    for told in on_transfer:
        told()


def _install() -> None:
    device_memory.stand_in.append(StandIn)
    watchers.append(_watch)
    timed_casts.append(lambda convert: convert() if _rows[0] else _timed(convert))  # a row's time includes its conversions
    read = Raw.asnumpy

    def asnumpy(self: Raw) -> Any:
        if not _quiet[0]:
            _read("asnumpy")
        return read(self)

    Raw.asnumpy = asnumpy


if runtime.FAKE_DEVICE:  # importing the module for its counters changes nothing in a process without the stand-in
    _install()
