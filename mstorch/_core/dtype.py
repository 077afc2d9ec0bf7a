"""torch's dtypes, finfo and iinfo, and the default dtype."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._backend.raw import MS_DTYPE, NP_DTYPE


class dtype:
    """The type of a tensor's elements. Compare with ``is`` or ``==``; ``repr`` is torch's."""

    __slots__ = (
        "name", "ms", "np", "itemsize", "is_floating_point", "is_complex", "is_signed", "is_integral", "category", "_rank",
    )  # fmt: skip

    def __init__(self, name: str, category: int, rank: int) -> None:
        self.name = name
        self.ms = MS_DTYPE[name]
        self.np = NP_DTYPE[name]
        self.itemsize: int = self.np.itemsize
        self.category = category  # 0 bool, 1 integral, 2 floating, 3 complex
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.is_integral = category <= 1
        self.is_signed = not (name == "bool" or name.startswith("uint"))
        self._rank = rank

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this precision."""
        found = {"float32": complex64, "float64": complex128, "complex64": complex64, "complex128": complex128}.get(self.name)
        if found is None:
            raise RuntimeError(f"mstorch: {self!r} has no complex counterpart that MindSpore can hold")
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
_BY_NAME = {d.name: d for d in DTYPES}
OF_MS: dict[Any, dtype] = {d.ms: d for d in DTYPES}
OF_NP: dict[np.dtype, dtype] = {d.np: d for d in DTYPES}


def by_name(name: str) -> dtype:
    """The dtype called ``name``, without "torch."."""
    return _BY_NAME[name]


def of_numpy(np_dtype: np.dtype) -> dtype:
    """The dtype of a NumPy array's elements; TypeError with torch's words for one that tensors cannot hold."""
    found = OF_NP.get(np_dtype.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {np_dtype.type.__module__}.{np_dtype.type.__name__}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, "
            "and bool."
        )
    return found


_default = [float32]


def get_default_dtype() -> dtype:
    """The floating dtype of new tensors made from Python floats; float32 unless set."""
    return _default[0]


def set_default_dtype(d: dtype, /) -> None:
    """Make ``d`` the default floating dtype. Raises TypeError for a dtype that is not floating."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type: {d}")
    _default[0] = d


class finfo:
    """Numerical properties of a floating (or complex) dtype: ``bits eps max min tiny smallest_normal resolution``."""

    def __init__(self, type: dtype | None = None) -> None:
        kind = get_default_dtype() if type is None else type
        if not isinstance(kind, dtype) or kind.category < 2:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type!r}'")
        kind = kind.to_real()
        self.dtype = kind.name
        self.bits = kind.itemsize * 8
        if kind is bfloat16:
            self.eps, self.resolution = 2.0**-7, 0.01
            self.max = (2.0 - 2.0**-7) * 2.0**127
            self.tiny = 2.0**-126
        else:
            info = np.finfo(kind.np)
            self.eps, self.max, self.tiny = float(info.eps), float(info.max), float(info.tiny)
            self.resolution = float(str(info.resolution))
        self.min = -self.max
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
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
        if not isinstance(type, dtype) or type.category >= 2:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(type.np)
        self.dtype, self.bits, self.min, self.max = type.name, info.bits, int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:.6g}, max={self.max:.6g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
