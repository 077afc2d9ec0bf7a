"""The numbers by which TorchScript names dtypes, layouts and memory formats."""

from __future__ import annotations

from typing import Any

from ..._src.core.dtype import by_name as dtype_named
from ..._src.core.formats import by_name as format_named

_DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    8: "complex32",
    9: "complex64",
    10: "complex128",
    11: "bool",
    15: "bfloat16",
    23: "float8_e5m2",
    24: "float8_e4m3fn",
    25: "float8_e5m2fnuz",
    26: "float8_e4m3fnuz",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
_LAYOUTS = {0: "strided", 1: "sparse_coo", 2: "sparse_csr", 4: "sparse_csc", 5: "sparse_bsr", 6: "sparse_bsc", 7: "jagged"}
_FORMATS = {0: "contiguous_format", 1: "preserve_format", 2: "channels_last", 3: "channels_last_3d"}
_NUMBER_OF = {name: number for number, name in (*_DTYPES.items(), *_LAYOUTS.items(), *_FORMATS.items())}


def _of(table: dict[int, str], number: int, what: str) -> str:
    if number not in table:
        raise RuntimeError(f"Unknown {what} {number!r}")
    return table[number]


def dtype_of(number: int) -> Any:
    """Return the dtype of a number. Raise RuntimeError if there is none."""
    return dtype_named(_of(_DTYPES, number, "ScalarType"))


def layout_of(number: int) -> Any:
    """Return the layout of a number. Raise RuntimeError if there is none."""
    return format_named(_of(_LAYOUTS, number, "layout"))


def format_of(number: int) -> Any:
    """Return the memory format of a number. Raise RuntimeError if there is none."""
    return format_named(_of(_FORMATS, number, "memory format"))


def number_of(value: Any) -> int:
    """Return the number of a dtype, layout or memory format."""
    return _NUMBER_OF[value.name]
