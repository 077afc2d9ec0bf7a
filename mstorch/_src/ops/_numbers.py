"""Conversion of Python numbers to dtypes: ranges, and torch's errors for overflow."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..backend.arrays import Number
from ..backend.errors import wrong_type
from ..backend.float8 import EXPONENTS, FLOAT8
from ..core.dtype import by_name, dtype, finfo
from ..core.modes import modes
from ..core.tangents import LEVELS
from ..core.tensor_base import TensorBase, is_tracked, recording
from ..tape.ways import in_arrays
from ._scalars import check_size

_CPP_TYPES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t", "float32": "float",
    "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", **{name: f"c10::{name.capitalize()}" for name in FLOAT8},
}  # fmt: skip
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
_PLAIN = frozenset(("float32", "float64", "bfloat16"))
_LARGEST_CODES = {name: finfo(by_name(name)).max for name in FLOAT8}


def refuse_tracked(*numbers: Any) -> None:
    """Raise TypeError, as torch, if a number is a tensor that autograd tracks, whose gradient would be lost."""
    for number in numbers:
        if isinstance(number, TensorBase) and is_tracked(number):
            raise wrong_type("a number is expected, not a Tensor that requires grad")


def not_differentiable(function: str, **given: Any) -> None:
    """Raise torch's error if autograd would have to track an argument for which the function has no gradient."""
    for name, value in given.items():
        if not isinstance(value, TensorBase):
            continue
        if value._ms_node is None and value._ms_auto is None and modes.native is None and not LEVELS:
            continue
        if recording((value,)):
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
                "requires_grad True."
            )


def numbers(value: Any, rank: int) -> tuple[Any, ...]:
    """Return one value for each dimension, from one value or anything that can be iterated over."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * rank


def integer_fits(value: float, kind: dtype) -> bool:
    """Return whether a number is in the range of an integer dtype. An unsigned dtype also accepts negative integers down to minus its
    maximum, which wrap around."""
    limits = np.iinfo(kind.np)
    low = -limits.max if limits.min == 0 and isinstance(value, int) else limits.min
    return bool(low <= value <= limits.max)


def _float_fits(value: float, name: str) -> bool:
    if name not in _LARGEST_CODES:
        return abs(value) <= _LARGEST.get(name, math.inf) or not math.isfinite(value)
    if value != value or name == "float8_e5m2" and math.isinf(value):  # the other dtypes have no infinity
        return True
    low = 2.0**-127 if name == EXPONENTS and not isinstance(value, int) else -_LARGEST_CODES[name]
    return low <= value <= _LARGEST_CODES[name]


def fitting(value: Any, kind: dtype, through: str | None = None) -> Any:
    """Return a number as torch converts it to a dtype (via ``through``). Raise RuntimeError on overflow.

    A complex number without imaginary part counts as real; a negative integer wraps around in an unsigned dtype, which NumPy 2 refuses.
    """
    name = through or kind.name
    if value.__class__ is float and name in _PLAIN and -1e38 < value < 1e38:  # nearly all numbers
        return value
    if value.__class__ is int:
        check_size(value)
    elif isinstance(value, TensorBase) and not value._ms_shape and in_arrays(value):
        value = value.item()  # beside an array of a narrower dtype NumPy would keep the tensor's dtype
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    if kind.category == 0:
        return bool(value)
    if kind.is_complex:
        fits = all(_float_fits(part, "float32" if name == "complex64" else name) for part in parts)
    elif len(parts) == 2 and (parts[1] or name == EXPONENTS):
        fits = False
    else:
        value = parts[0]
        fits = integer_fits(value, kind) if kind.category == 1 else _float_fits(value, name)
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {_CPP_TYPES.get(name, name)} without overflow")
    if name.startswith("uint") and value < 0:  # negative numbers wrap around in unsigned dtypes
        return value + 2 ** (8 * kind.itemsize)
    return value


def written(value: Number, kind: dtype) -> complex:
    """Convert a number as ``fitting`` does; for dtypes of at most 16 bits by way of float64, because torch makes a tensor of the number
    first."""
    return fitting(value, kind, "float64" if kind.name in ("float16", "bfloat16", *FLOAT8) else None)


def filling(value: Number, kind: dtype, count: int) -> complex:
    """Convert a number for ``fill_`` of a tensor with ``count`` elements: by ``written`` for a single element, else by ``fitting``, as
    torch does."""
    return written(value, kind) if count == 1 else fitting(value, kind)


def real_of(value: Number, kind: str) -> float:
    """Return a complex number without imaginary part as a real number, and a real number unchanged. Raise RuntimeError for an imaginary
    part, and an error for NaN if ``kind`` is "int64_t". ``kind`` is the C++ type named in the message."""
    if not isinstance(value, complex):
        if value != value and kind == "int64_t":
            raise ValueError("cannot convert float NaN to integer")
        return value
    if value.imag or value != value and kind == "int64_t":
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real
