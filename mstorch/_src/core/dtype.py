"""torch's dtypes, finfo and iinfo, and the default dtype."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend.errors import not_for
from ..backend.float8 import COMPLEX_HALF, EXPONENTS, HELD, STORED
from ..backend.raw import MS_DTYPE, NP_DTYPE
from ..leaving import item_again
from .naming import is_torch

# The integer dtypes in which quantized dtypes are stored.
_OF_QUANTIZED = {"qint8": np.int8, "qint32": np.int32, "quint8": np.uint8, "quint4x2": np.uint8, "quint2x4": np.uint8}


class dtype:
    """The dtype of a tensor's elements; compare with ``is`` or ``==``.

    ``held`` names the dtype of the MindSpore tensor that holds the elements: bytes for dtypes that MindSpore cannot compute, whose ``ms``
    is None.
    """

    __slots__ = (
        "name", "_ms", "_np", "_held", "itemsize", "is_floating_point", "is_complex", "_signed", "is_integral", "category", "_rank",
    )  # fmt: skip

    def __init__(self, name: str, category: int, rank: int) -> None:
        self.name = name
        self._ms = None if name in STORED else MS_DTYPE[name]
        self._held = name if name in MS_DTYPE else HELD[name]
        self._np: np.dtype[Any] | None = NP_DTYPE[name]
        self.itemsize: int = NP_DTYPE[name].itemsize
        self.category = category  # 0 bool, 1 integral, 2 floating, 3 complex
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.is_integral = category <= 1
        self._signed: bool | str = not (name == "bool" or name.startswith("uint") or name == EXPONENTS)
        self._rank = rank

    # Properties instead of __getattr__: attribute access takes half the time in a class without __getattr__.
    @property
    def np(self) -> np.dtype[Any]:
        """NumPy's dtype; raise NotImplementedError for a dtype that no tensor can have."""
        return NP_DTYPE[self.name] if self._np is None else self._np

    @property
    def in_memory(self) -> Any:
        """The NumPy dtype of the elements in memory; for a quantized dtype that of its integers."""
        return np.dtype(_OF_QUANTIZED[self.name]) if self.name in _OF_QUANTIZED else self.np

    @property
    def ms(self) -> Any:
        """MindSpore's dtype, or None if there is none; raise NotImplementedError for a dtype that no tensor can have."""
        return self._ms if self._held else MS_DTYPE[self.name]

    @property
    def held(self) -> str:
        """Name of the dtype of the MindSpore tensor; raise NotImplementedError for a dtype that no tensor can have."""
        return self._held or MS_DTYPE[self.name]

    @property
    def is_signed(self) -> bool:
        """True if the dtype has negative numbers. Raise RuntimeError for the dtypes for which torch raises."""
        if self._signed.__class__ is str:
            raise RuntimeError(self._signed)
        return bool(self._signed)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self.name if is_torch() else (by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> dtype:
        return self

    def to_real(self) -> dtype:
        """Return the dtype of the real part of a complex dtype, or the dtype itself if it is real."""
        return {"complex64": float32, "complex128": float64, "complex32": float16}.get(self.name, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype whose real and imaginary parts have this precision."""
        found = {
            "float16": complex32, "bfloat16": complex64, "float32": complex64, "float64": complex128,
            "complex64": complex64, "complex128": complex128,
        }.get(self.name)  # fmt: skip
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.name.capitalize()}")
        return found


bool_ = dtype("bool", 0, 0)
uint8 = dtype("uint8", 1, 1)
int8 = dtype("int8", 1, 2)
int16 = dtype("int16", 1, 3)
int32 = dtype("int32", 1, 4)
int64 = dtype("int64", 1, 5)
uint16 = dtype("uint16", 1, 3)
uint32 = dtype("uint32", 1, 4)
uint64 = dtype("uint64", 1, 5)
float16 = dtype("float16", 2, 6)
bfloat16 = dtype("bfloat16", 2, 6)
float32 = dtype("float32", 2, 7)
float64 = dtype("float64", 2, 8)
complex64 = dtype("complex64", 3, 9)
complex128 = dtype("complex128", 3, 10)

DTYPES = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
PYTHON_TYPES: dict[type, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}
"""Python's types that may be given as dtypes."""


STORED_DTYPES = tuple(dtype(name, 3 if name == COMPLEX_HALF else 2, -1) for name in STORED)
"""Dtypes whose elements NumPy can only store as bytes. They can be cast and copied; few operations compute with them."""
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, complex32 = STORED_DTYPES


def _lacking(name: str, category: int, itemsize: int, unsigned: str = "") -> dtype:
    """Return a dtype that torch has and MindSpore lacks: it has a name and can be compared, but no tensor can have it.

    ``unsigned``: ``"u"`` if the dtype has no negative numbers, or the text of the error that ``is_signed`` raises."""
    made = dtype.__new__(dtype)
    made.name, made.itemsize, made.category, made._rank = name, itemsize, category, -1
    made.is_floating_point, made.is_complex, made.is_integral = category == 2, category == 3, category <= 1
    made._ms, made._np, made._held = None, None, ""
    made._signed = unsigned if len(unsigned) > 1 else not unsigned
    return made


_BITS = "Bits types are undefined"
_QUANTIZED = "isSignedType not supported for quantized types"
LACKING: tuple[dtype, ...] = (
    *(_lacking(f"int{bits}", 1, 1) for bits in range(1, 8)),
    *(_lacking(f"uint{bits}", 1, 1, "u") for bits in range(1, 8)),
    *(_lacking(name, 1, size, _BITS) for name, size in (
        ("bits16", 2), ("bits1x8", 1), ("bits2x4", 1), ("bits4x2", 1), ("bits8", 1),
    )),
    *(_lacking(name, 1, size, _QUANTIZED) for name, size in (
        ("qint8", 1), ("qint32", 4), ("quint8", 1), ("quint4x2", 1), ("quint2x4", 1),
    )),
)  # fmt: skip
(
    int1, int2, int3, int4, int5, int6, int7, uint1, uint2, uint3, uint4, uint5, uint6, uint7, bits16, bits1x8, bits2x4,
    bits4x2, bits8, qint8, qint32, quint8, quint4x2, quint2x4,
) = LACKING  # fmt: skip
_BY_NAME = {d.name: d for d in (*DTYPES, *STORED_DTYPES, *LACKING)}
OF_MS: dict[Any, dtype] = {d.ms: d for d in DTYPES}
OF_NP: dict[np.dtype[Any], dtype] = {d.np: d for d in (*DTYPES, *STORED_DTYPES)}


def by_name(name: str) -> dtype:
    """Return the dtype with this name, given without "torch."."""
    return _BY_NAME[name]


def of_numpy(np_dtype: np.dtype[Any]) -> dtype:
    """Return the dtype for a NumPy dtype; raise TypeError with torch's message if tensors do not support it."""
    found = OF_NP.get(np_dtype.newbyteorder("="))
    if found is None or found.ms is None:
        raise TypeError(
            f"can't convert np.ndarray of type {np_dtype.type.__module__}.{np_dtype.type.__name__}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, "
            "and bool."
        )
    return found


_default = [float32]


def get_default_dtype() -> dtype:
    """Return the floating-point dtype of new tensors made from Python floats; float32 by default."""
    return _default[0]


def default_dtype_again() -> Callable[[], Any]:
    """Return a function that restores the current default floating-point dtype."""
    return item_again(_default, 0)


def set_default_dtype(d: dtype, /) -> None:
    """Make ``d`` the default floating-point dtype. Raise TypeError for other dtypes."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        what = "" if isinstance(d, dtype) else "invalid dtype object: "
        raise TypeError(f"{what}only floating-point types are supported as the default type")
    _default[0] = d


# eps, max, tiny and resolution
_SMALL_FLOATS = {
    "float8_e4m3fn": (0.125, 448.0, 2.0**-6, 1.0),
    "float8_e4m3fnuz": (0.125, 240.0, 2.0**-7, 1.0),
    "float8_e5m2": (0.25, 57344.0, 2.0**-14, 1.0),
    "float8_e5m2fnuz": (0.125, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 1.0),
}


# C++ names of the fields of ``finfo``, in the error for the dtype of pairs, which lacks them.
_OF_PAIRS = {
    "eps": "epsilon", "max": "max", "min": "lowest", "tiny": "min", "smallest_normal": "min", "resolution": "digits10", "dtype": "dtype",
}  # fmt: skip


class finfo:
    """Numerical properties of a floating-point (or complex) dtype: ``bits eps max min tiny smallest_normal resolution``."""

    def __init__(self, type: dtype | None = None) -> None:
        kind = get_default_dtype() if type is None else PYTHON_TYPES.get(type, type)  # type: ignore[call-overload]
        if not isinstance(kind, dtype) or kind.is_integral:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type!r}'")
        kind = kind.to_real()
        if kind is float4_e2m1fn_x2:
            self.bits = 8  # torch has no other field, and raises for the others when they are read
            return
        self.dtype = kind.name
        self.bits = kind.itemsize * 8
        if kind.name in _SMALL_FLOATS:
            self.eps, self.max, self.tiny, self.resolution = _SMALL_FLOATS[kind.name]
        elif kind is bfloat16:
            self.eps, self.resolution = 2.0**-7, 0.01
            self.max = (2.0 - 2.0**-7) * 2.0**127
            self.tiny = 2.0**-126
        else:
            info = np.finfo(kind.np)
            self.eps, self.max, self.tiny = float(info.eps), float(info.max), float(info.tiny)
            self.resolution = float(str(info.resolution))
        self.min = self.tiny if kind.name == "float8_e8m0fnu" else -self.max
        self.smallest_normal = self.tiny

    def __getattr__(self, name: str) -> Any:
        word = _OF_PAIRS.get(name)
        if word is None:
            raise AttributeError(f"'torch.finfo' object has no attribute '{name}'")
        raise not_for(word, "float4_e2m1fn_x2")

    def __repr__(self) -> str:
        if "dtype" not in vars(self):
            raise TypeError("bad argument type for built-in operation")
        parts = ", ".join(
            f"{name}={getattr(self, name):.6g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({parts}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)



class iinfo:
    """Numerical properties of an integer dtype: ``bits max min``."""

    def __init__(self, type: dtype) -> None:
        type = PYTHON_TYPES.get(type, type)  # type: ignore[call-overload]
        if not isinstance(type, dtype) or not type.is_integral:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(_OF_QUANTIZED[type.name] if type.name in _OF_QUANTIZED else type.np)
        self.dtype, self.bits, self.min, self.max = type.name, info.bits, int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:.6g}, max={self.max:.6g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
