"""Casts between dtypes on raw tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import mindspore
import numpy as np

from ..quiet import quiet
from . import runtime
from .arrays import Array
from .float8 import cast_stored, numbers
from .halves import BFLOAT16, FLOAT16, narrowed, widened
from .primitives import run
from .raw import MS_DTYPE, NAME_OF, NP_DTYPE, ON_CPU, Raw, from_numpy
from .tape import Function, function_node, grad_mode, tracing
from .turns import LOCK

_cast_primitive = mindspore.ops.Cast()
_differs = mindspore.ops.NotEqual()
_DIFFERENTIABLE = frozenset(("float16", "bfloat16", "float32", "float64", "complex64", "complex128"))


def numpy_cast(array: Array, target: np.dtype[Any], order: Literal["C", "K"] = "C") -> Array:
    """Return a new array cast by torch's rules: NaN and out-of-range values wrap as in C, complex numbers drop the imaginary part.

    It is row-major, or in the source's memory order (``order="K"``).
    """
    if not array.size and isinstance(array.base, np.ndarray) and array.base.size == 1:
        # The result stays expanded, but its flags must not mark it as a view of another array.
        found = np.broadcast_to(np.zeros((), target), array.shape)
        found.flags.writeable = True
        return found
    if array.dtype.names or target.names:
        return cast_stored(array, target, numpy_cast)
    if array.dtype.kind == "c" and target.kind != "c":
        if target.kind == "b":
            return array != 0
        array = array.real
    if BFLOAT16 in (array.dtype, target):
        if order == "C":
            array = np.asarray(array, order="C")
        if array.dtype == BFLOAT16 != target:
            array = widened(array)
            if target == np.float32:
                return array
        elif array.dtype != target:
            array = array.real.astype(np.float32, copy=False)
        if target == BFLOAT16:
            return narrowed(array, target)
    elif array.dtype == FLOAT16 and target == np.float32:
        return widened(np.asarray(array, order="C") if order == "C" else array)
    elif target == FLOAT16 and array.dtype.char == "d":
        with quiet():
            array = array.astype(np.float32)  # torch rounds twice
    with quiet():
        if SATURATES and array.dtype.kind == "f" and target.kind == "u" and target.itemsize < 8:
            array = array.astype(np.int64, order=order)
        return array.astype(target, order=order)


def _saturates() -> bool:
    """Return whether NumPy casts some negative numbers to unsigned zeros, as the instructions of ARM processors do; torch's wrap."""
    with quiet():
        return bool((np.full(67, -1, np.float32).astype(np.uint8) != 255).any())  # its vector loop, and what is left over


SATURATES = _saturates()


def in_python(array: Array) -> Array:
    """Return an array as a dtype that NumPy converts to Python numbers."""
    if array.dtype.names:
        return numbers(array)
    return array.astype(np.float32) if array.dtype == BFLOAT16 else array


def _cast_numpy(raw: Raw, name: str) -> Raw:
    return from_numpy(numpy_cast(raw.asnumpy(), NP_DTYPE[name]))


def _forward(ctx: Function, raw: Raw, name: str) -> Raw:
    ctx.source = NAME_OF[raw.dtype]
    return _cast_numpy(raw, name)


def _backward(ctx: Function, gradient: Raw) -> tuple[Raw, None]:
    return cast(gradient, ctx.source), None


_cast_recorded = function_node("ToCopy", _forward, _backward)


casts: list[Callable[[], Any]] = []
"""Functions called at each conversion on a device."""


def cast(raw: Raw, name: str) -> Raw:
    """Return the values cast to another dtype, in new memory. Differentiable between floating-point and complex dtypes.

    MindSpore's Cast takes 0.4 ms on the CPU for any size (2.7.2 to 2.10), the way through NumPy 10 µs. Traces and devices use the
    primitive.
    """
    if not ON_CPU or tracing() is not None:
        for told in casts:
            told()
        with LOCK:
            return timed[0](lambda: _cast_on_device(raw, name)) if timed else _cast_on_device(raw, name)
    if grad_mode.enabled and name in _DIFFERENTIABLE and raw._requires_grad:
        return _cast_recorded(raw, name)
    return _cast_numpy(raw, name)


timed: list[Callable[[Callable[[], Raw]], Raw]] = []
"""Functions that call a conversion on the stand-in device, and measure how long it takes."""


def _cast_on_device(raw: Raw, name: str) -> Raw:
    if runtime.DEVICE_TARGET == "GPU" and "bfloat16" in (name, NAME_OF[raw.dtype]):
        return _cast_numpy(raw, name)  # MindSpore's plugin for GPUs has no cast of bfloat16
    if name == "bool" and NAME_OF[raw.dtype] in ("complex64", "complex128"):
        if runtime.DEVICE_TARGET == "GPU":  # where NotEqual takes no complex numbers
            parts = [run(part, raw) for part in ("Real", "Imag")]
            return run("LogicalOr", *[_differs(part, mindspore.Tensor(0, part.dtype)) for part in parts])
        return _differs(raw, mindspore.Tensor(0, raw.dtype))  # Cast uses the real part only
    once = getattr(raw, "_shown", None)
    if once is not None and once.size == 1 and raw.size < 2 and tracing() is None and not any(raw.stride()) and raw.shape:
        return run("BroadcastTo", _cast_primitive(once, MS_DTYPE[name]), at=(tuple(raw.shape),))  # cast one element and expand it again
    return _cast_primitive(raw, MS_DTYPE[name])
