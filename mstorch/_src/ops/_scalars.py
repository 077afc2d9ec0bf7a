"""Python numbers as 0-d arrays, and their precision with half-precision tensors."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.cast import numpy_cast
from ..core.dtype import dtype, float32, float64, int32, int64
from ..core.tensor_base import TensorBase
from ..quiet import quiet
from ..tape.ways import in_arrays
from ..tape.windows import linear


def check_size(value: int) -> None:
    """Raise torch's error for an integer that no dtype of torch holds."""
    if not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


BESIDE: dict[Any, tuple[type, ...]] = {float32: (int, float), float64: (int, float), int32: (int,), int64: (int,)}
"""The dtypes that arithmetic keeps beside Python numbers of these classes. Half precision, which rounds numbers otherwise, is not here."""

_SCALARS: dict[tuple[Any, Any, str], Array] = {}
_SCALARS_LIMIT = 4096


def scalar_array(value: Any, kind: dtype) -> Array:
    """Return a 0-d array of a Python number. The array is cached and must not be written."""
    # 0.0 and -0.0 are equal, also as parts of complex numbers, so that the key is their repr.
    key = (value.__class__, value if value and value.__class__ is not complex else repr(value), kind.name)
    found = _SCALARS.get(key)
    if found is None:
        if value.__class__ is int:
            check_size(value)
        if kind.category == 1 and isinstance(value, float):
            if value - value != 0:  # infinity or NaN
                raise RuntimeError(f"value cannot be converted to type {_cpp_name(kind)} without overflow")
            value = int(value)
        if not kind.is_complex and isinstance(value, complex):
            raise RuntimeError(f"value cannot be converted to type {_cpp_name(kind)} without overflow")
        if kind.category == 0:
            found = np.asarray(bool(value))
        elif kind.category == 1:
            found = np.asarray(int(value)).astype(kind.np)
        else:
            with quiet():
                found = np.asarray(numpy_cast(np.asarray(value, np.complex128 if kind.is_complex else np.float64), kind.np))
        if value == value and len(_SCALARS) < _SCALARS_LIMIT:  # NaN never equals its key
            _SCALARS[key] = found
    return found


def _cpp_name(kind: dtype) -> str:
    return {"float32": "float", "float64": "double", "int64": "int64_t", "int32": "int", "float16": "at::Half"}.get(
        kind.name, kind.name
    )

# Operations for which torch uses a single second operand in float32 if the first is 16-bit; elsewhere numbers are rounded.
WIDE_SECOND = frozenset(("mul", "div", "floor_divide", "trunc_divide"))


def widened(second: TensorBase | float, tensors: list[Any], kind: dtype) -> TensorBase | Array | None:
    """Return a number, or a 0-d tensor of a dtype other than ``kind``, as float32. Return None for any other operand, or unless all
    ``tensors`` are in host memory."""
    if not in_arrays(*tensors):
        return None
    if not isinstance(second, TensorBase):
        return scalar_array(second.item() if isinstance(second, np.generic) else second, float32)
    if second._ms_shape or second._ms_dtype is kind:
        return None
    there = functools.partial(numpy_cast, target=float32.np)
    return linear(second, there, functools.partial(numpy_cast, target=second._ms_dtype.np), "ToCopyBackward0")


def is_inexact(second: Any, kind: dtype) -> bool:
    """Return whether an operand is a number that half precision cannot represent exactly."""
    if isinstance(second, TensorBase):
        return False
    number = scalar_array(second.item() if isinstance(second, np.generic) else second, float32)
    return bool(numpy_cast(numpy_cast(number, kind.np), float32.np) != number)
