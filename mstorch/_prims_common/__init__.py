"""torch._prims_common: queries about shapes and strides that packages use."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .._src.core.device import device
from .._src.core.dtype import complex32, complex64, complex128, dtype, float16, float32, float64
from .._src.core.formats import channels_last, channels_last_3d, contiguous_format, memory_format
from .._src.core.strides import channels_last_strides, contiguous_strides, suggests_channels_last
from .._src.hook import missing as _missing
from .._tensor import Tensor
from . import wrappers

DeviceLikeType: TypeAlias = str | device | int

__all__ = [
    "DeviceLikeType", "corresponding_complex_dtype", "corresponding_real_dtype", "make_channels_last_strides_for",
    "make_contiguous_strides_for", "suggest_memory_format",
    "wrappers",
]  # fmt: skip


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor; with ``row_major=False`` the last two dimensions are column-major."""
    if any(size < 0 for size in shape):
        raise AssertionError(f"sizes must not be negative: {tuple(shape)}")
    strides = contiguous_strides(shape)
    return strides if row_major or len(shape) < 2 else (*strides[:-2], 1, max(shape[-2], 1))


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Return channels-last strides for the shape (N, C, L), (N, C, H, W) or (N, C, D, H, W)."""
    if len(shape) not in (3, 4, 5):
        raise RuntimeError(f"no channels last strides exist in {len(shape)} dimensions")
    return channels_last_strides(shape)


_COMPLEX_OF = {float16: complex32, float32: complex64, float64: complex128}
_REAL_OF = {kind: real for real, kind in _COMPLEX_OF.items()}


def corresponding_complex_dtype(dtype: dtype) -> dtype:
    """Return the complex dtype whose real and imaginary parts have the given floating dtype."""
    return _COMPLEX_OF[dtype]


def corresponding_real_dtype(dtype: dtype) -> dtype:
    """Return the floating dtype of the real and imaginary parts of a complex dtype."""
    return _REAL_OF[dtype]


def suggest_memory_format(x: Tensor) -> memory_format:
    """Return ``channels_last`` or ``channels_last_3d`` for a tensor in that order, else ``contiguous_format``."""
    if suggests_channels_last(x.shape, x.stride()):
        return channels_last if len(x.shape) == 4 else channels_last_3d
    return contiguous_format

__getattr__ = _missing(__name__, ("wrappers",))  # torch's import binds these, too
