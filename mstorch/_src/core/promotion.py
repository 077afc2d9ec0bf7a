"""torch's type promotion: the dtype in which an operation on mixed arguments computes."""
from __future__ import annotations

from functools import cache
from typing import Any

from ..backend.arrays import Number
from ..backend.errors import TYPE_NAMES
from ..backend.float8 import STORED
from .dtype import (
    PYTHON_TYPES,
    bfloat16,
    bool_,
    complex32,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int64,
    uint8,
)  # fmt: skip


def refuse_other_dtype(function: str, given: Any) -> None:
    """Raise torch's TypeError if ``given``, the argument ``dtype``, is not a dtype."""
    if not isinstance(given, dtype):
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")


def as_dtypes(function: str, **given: Any) -> list[dtype]:
    """Return the arguments as dtypes; each is a dtype or a Python type that stands for one. Raise torch's TypeError for other values."""
    found: list[Any] = [PYTHON_TYPES.get(value, value) if isinstance(value, type) else value for value in given.values()]
    for place, (name, value) in enumerate(zip(given, found), 1):
        if not isinstance(value, dtype):
            raise TypeError(f"{function}(): argument '{name}' (position {place}) must be torch.dtype, not {type(value).__name__}")
    return found


@cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype to which both dtypes can be promoted."""
    if type1.__class__ is not dtype or type2.__class__ is not dtype:
        type1, type2 = as_dtypes("promote_types", type1=type1, type2=type2)
    if type1 is type2:
        return type1
    for kind, other in ((type1, type2), (type2, type1)):
        if kind.name.startswith("float8"):
            names = (WORDS.get(each.name, each.name.capitalize()) for each in (type1, type2))
            raise RuntimeError("Promotion for Float8 Types is not supported, attempted to promote {} and {}".format(*names))
        if kind.name in _LIMITED and not other.is_floating_point:
            raise RuntimeError(
                "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                f"{WORDS[type1.name]} and {WORDS[type2.name]}"
            )
    if complex32 in (type1, type2):
        other = type1 if type2 is complex32 else type2
        if other.is_floating_point and other is not float16:
            return other.to_complex()
    low, high = sorted((type1, type2), key=lambda d: (d.category, d._rank))
    if low.category != high.category:
        return complex128 if low is float64 and high is complex64 else high
    if low.category == 1 and low is uint8 and high is int8:
        return int16
    if low.is_floating_point and {low, high} == {float16, bfloat16}:
        return float32
    return high


_LIMITED = frozenset(("uint16", "uint32", "uint64"))
# Names of scalar types in torch's messages.
WORDS = {**{name: name.capitalize() for name in STORED}, **TYPE_NAMES}
_WITH_CLASS = frozenset(("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64"))  # torch.FloatTensor and so on


def type_text(kind: dtype, layout: str = "") -> str:
    """Return the name of a tensor type in torch's messages: ``torch.FloatTensor`` or, for dtypes without such a class, ``CPUBFloat16Type``.
    ``layout`` is the part of the name for a sparse layout, such as "sparse"."""
    if kind.name in _WITH_CLASS:
        return f"torch.{layout + '.' if layout else ''}{WORDS[kind.name]}Tensor"
    return f"{'Sparse' if layout else ''}CPU{WORDS[kind.name]}Type"


def scalar_dtype(value: Number) -> dtype:
    """Return the dtype of a Python number in type promotion."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, complex):
        return get_default_dtype().to_complex()
    return get_default_dtype()


def combine(dimensioned: dtype | None, zero_dim: dtype | None, wrapped: dtype | None) -> dtype:
    """Return the promoted dtype of three classes of operands: tensors with dimensions, 0-d tensors and Python numbers.

    A later class takes part only if its category (bool, integral, floating-point, complex) is higher.
    """
    result = dimensioned
    for other in (zero_dim, wrapped):
        if other is None:
            continue
        if result is None:
            result = other
        elif other.category > result.category:
            if other.is_complex and result.is_floating_point:
                # A complex number combined with a real tensor keeps the tensor's precision.
                result = result.to_complex()
            else:
                result = promote_types(result, other)
    assert result is not None
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return whether a cast keeps the category: float to int and complex to real do not."""
    from_, to = as_dtypes("can_cast", from_=from_, to=to)
    if from_.category > to.category:
        return False
    return not (to is bool_ and from_ is not bool_)
