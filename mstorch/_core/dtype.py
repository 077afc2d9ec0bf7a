"""torch's dtypes, finfo and iinfo, and the default dtype."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backend.float8 import COMPLEX_HALF, EXPONENTS, HELD, STORED
from .._backend.raw import MS_DTYPE, NP_DTYPE
from .._leaving import item_again
from .naming import is_torch

_untold: dict[str, str] = {}
"""Why torch does not say of a dtype whether it holds negative numbers."""


class dtype:
    """The type of a tensor's elements. Compare with ``is`` or ``==``; ``repr`` is torch's.

    ``held`` names the dtype that MindSpore's tensor of the elements has: bytes for those that it cannot compute, whose ``ms`` is None.
    """

    __slots__ = (
        "name", "ms", "np", "held", "itemsize", "is_floating_point", "is_complex", "is_signed", "is_integral", "category", "_rank",
    )  # fmt: skip

    def __init__(self, name: str, category: int, rank: int) -> None:
        self.name = name
        self.ms = None if name in STORED else MS_DTYPE[name]
        self.held = name if name in MS_DTYPE else HELD[name]
        self.np = NP_DTYPE[name]
        self.itemsize: int = self.np.itemsize
        self.category = category  # 0 bool, 1 integral, 2 floating, 3 complex
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.is_integral = category <= 1
        self.is_signed = not (name == "bool" or name.startswith("uint") or name == EXPONENTS)
        self._rank = rank

    def __getattr__(self, name: str) -> Any:
        """Raise for what a dtype that MindSpore lacks does not have: its dtypes of MindSpore and NumPy, a sign that torch does not tell."""
        if name in ("ms", "np", "held"):
            return (NP_DTYPE if name == "np" else MS_DTYPE)[self.name]  # NotImplementedError
        if name == "is_signed":
            raise RuntimeError(_untold[self.name])
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self.name if is_torch() else (by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> dtype:
        return self

    def to_real(self) -> dtype:
        """Return the dtype of the real part."""
        return {"complex64": float32, "complex128": float64, "complex32": float16}.get(self.name, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype with parts of this precision."""
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


STORED_DTYPES = tuple(dtype(name, 3 if name == COMPLEX_HALF else 2, -1) for name in STORED)
"""Dtypes whose elements are bytes: they are converted and moved; few operations compute with them."""
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, complex32 = STORED_DTYPES


def _lacking(name: str, category: int, itemsize: int, unsigned: str = "") -> dtype:
    """Return a dtype that torch has and MindSpore has not: it can be named and compared, a tensor of it cannot be made.

    Whether it can hold negative numbers: ``"u"`` says no, a sentence that torch refuses to tell.
    """
    made = dtype.__new__(dtype)
    made.name, made.itemsize, made.category, made._rank = name, itemsize, category, -1
    made.is_floating_point, made.is_complex, made.is_integral = category == 2, category == 3, category <= 1
    if len(unsigned) > 1:
        _untold[name] = unsigned
    else:
        made.is_signed = not unsigned
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
OF_NP: dict[np.dtype, dtype] = {d.np: d for d in (*DTYPES, *STORED_DTYPES)}


def by_name(name: str) -> dtype:
    """Return the dtype called ``name``, without "torch."."""
    return _BY_NAME[name]


def of_numpy(np_dtype: np.dtype) -> dtype:
    """Return the dtype of a NumPy array's elements; TypeError with torch's words for one that tensors cannot hold."""
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
    """Return the floating dtype of new tensors made from Python floats; float32 unless set."""
    return _default[0]


def default_dtype_again() -> Callable[[], Any]:
    """Return a function that sets the default floating dtype to that of now."""
    return item_again(_default, 0)


def set_default_dtype(d: dtype, /) -> None:
    """Make ``d`` the default floating dtype. Raises TypeError for a dtype that is not floating."""
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


# The names of the fields of ``finfo``; the dtype of pairs has none of them.
_OF_PAIRS = {
    "eps": "epsilon", "max": "max", "min": "lowest", "tiny": "min", "smallest_normal": "min", "resolution": "digits10", "dtype": "dtype",
}  # fmt: skip


class finfo:
    """Numerical properties of a floating (or complex) dtype: ``bits eps max min tiny smallest_normal resolution``."""

    def __init__(self, type: dtype | None = None) -> None:
        kind = get_default_dtype() if type is None else type
        if not isinstance(kind, dtype) or kind.is_integral:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type!r}'")
        kind = kind.to_real()
        if kind is float4_e2m1fn_x2:
            self.bits = 8  # torch knows no more of it, and says so where the rest is asked for
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
        raise NotImplementedError(f"\"{word}\" not implemented for 'Float4_e2m1fn_x2'")

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


# The integers that quantized dtypes keep in memory.
_OF_QUANTIZED = {"qint8": np.int8, "qint32": np.int32, "quint8": np.uint8, "quint4x2": np.uint8, "quint2x4": np.uint8}


class iinfo:
    """Numerical properties of an integer dtype: ``bits max min``."""

    def __init__(self, type: dtype) -> None:
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
