"""torch's numbers of dtypes, as operators take them whose schema has an ``int`` for a dtype."""
from __future__ import annotations

from . import dtype as _module
from .dtype import dtype

NAMES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 quint4x2 "
    "quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64"
).split()


def by_number(number: int) -> dtype | None:
    """Return the dtype of a number; None for a number that no dtype here has."""
    return getattr(_module, NAMES[number], None) if 0 <= number < len(NAMES) else None


def number_of(kind: dtype) -> int | None:
    """Return a dtype's number; None if it is not in the table."""
    name = str(kind).rpartition(".")[2]
    return NAMES.index(name) if name in NAMES else None
