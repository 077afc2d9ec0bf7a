"""Factories that run on a device, from a shape and a number."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend import device_memory
from ...backend.arrays import Number
from ...backend.cast import cast
from ...backend.geometry import contiguous_strides
from ...backend.raw import number_in
from ...core import determinism
from ...core.device_tensors import device_tensor
from ...core.dtype import dtype, float32, float64, int32, int64
from ...core.tensor_base import TensorBase, strides_of
from .._numbers import filling
from .._scalars import scalar_array

_NUMBERS = {
    **{name: number for word, number in (("zeros", 0), ("ones", 1), ("empty", 0)) for name in (word, f"{word}_like", f"new_{word}")},
    "empty_strided": 0, "empty_permuted": 0, "new_empty_strided": 0,
}  # fmt: skip
_GIVEN = {"full", "full_like", "new_full"}


def _argument(function: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Number:
    if name in kwargs:
        return kwargs[name]
    code = function.__code__
    return args[code.co_varnames[: code.co_argcount].index(name)]


def filled(shape: tuple[int, ...], strides: tuple[int, ...] | None, kind: dtype, value: Number) -> TensorBase:
    """Return a device tensor filled with a Python number."""
    steps = contiguous_strides(shape) if strides is None else strides
    count = 0 if 0 in shape else 1 + sum((length - 1) * step for length, step in zip(shape, steps))
    plain = strides is None or (count and steps == contiguous_strides(shape))
    base = device_memory.full(shape if plain else (count,), value, kind.held)
    return device_tensor(base, kind, shape, None if plain else steps)


def made_on_device(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> TensorBase | None:
    """Return a factory's result, created on the device without a copy from the host; None if the factory does not support this."""
    name = function.__name__
    if name not in _NUMBERS and name not in _GIVEN and name != "arange":
        return None
    shown = function(*args, **kwargs)  # which raises torch's errors
    if shown._ms_sparse:
        return None
    shape, kind = shown._ms_shape, shown._ms_dtype
    if name == "arange":
        return _arange(shape, kind, args, kwargs)
    if name in _GIVEN:
        value = _argument(function, "fill_value", args, kwargs)
        if not isinstance(value, (bool, int, float, complex)):
            return None  # a tensor, or a number of NumPy's
        value = number_in(scalar_array(filling(value, kind, math.prod(shape)), kind))
    elif "empty" in name and determinism.fills():
        value = determinism.filler(kind)
    else:
        value = _NUMBERS[name]
    if kind.ms is None and name not in _GIVEN:
        value = number_in(scalar_array(value, kind)) if value else 0
    return filled(shape, None if shown._ms_stride is None else strides_of(shown), kind, value)


_EXACT = 1 << 24  # whole numbers up to here are exact in float32


def _arange(shape: tuple[int, ...], kind: dtype, args: Sequence[Any], kwargs: dict[str, Any]) -> TensorBase | None:
    given = dict(zip(("end",) if len(args) == 1 else ("start", "end", "step"), args))
    given.update({key: value for key, value in kwargs.items() if key in ("start", "end", "step")})
    whole: Any = given.get("start", 0), given.get("end"), given.get("step", 1)
    start, end, step = (int(n) if kind.is_floating_point and n.__class__ is float and n.is_integer() else n for n in whole)
    if not start.__class__ is end.__class__ is step.__class__ is int:
        return None
    if kind not in (int32, int64) and not all(-_EXACT <= number <= _EXACT for number in (start, end, step)):
        return None
    counted = kind if kind in (int32, int64, float32, float64) else int32
    base = device_memory.arange(start, end, step, counted.name, lambda: np.arange(start, end, step).astype(counted.np))
    return device_tensor(base if counted is kind else cast(base, kind.name), kind, shape, None)
