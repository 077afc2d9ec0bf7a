"""Fourier transforms and complex numbers on the host."""
from __future__ import annotations

import importlib

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..table import define_host
from ._ufunc import COMPLEX, FLOATS


def numpy_fft(x: Array, dims: tuple[int, ...], inverse: bool, norm: str) -> Array:
    """Return the discrete Fourier transform along ``dims``."""
    if not x.size or not dims:
        return np.array(x, order="C")
    fft = importlib.import_module("scipy.fft")  # imported on first use: it takes a twentieth of mstorch's import time
    return np.asarray((fft.ifftn if inverse else fft.fftn)(x, axes=dims, norm=norm), x.dtype, order="C")


def _complex(real: Array, imaginary: Array) -> Array:
    found = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.complex64 if real.dtype == np.float32 else np.complex128)
    found.real, found.imag = real, imaginary
    return found


def numpy_polar(size: Array, angle: Array) -> Array:
    """Return complex numbers from absolute value and angle."""
    with quiet():
        return _complex(np.asarray(size * np.cos(angle)), np.asarray(size * np.sin(angle)))


def numpy_angle(x: Array) -> Array:
    """Return the angle of each complex number; for real arrays pi for negative numbers, 0 for others, NaN for NaN."""
    if x.dtype.kind == "c":
        return np.asarray(np.angle(x))
    return np.asarray(np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0))))


define_host("fft", numpy_fft, COMPLEX)
define_host("complex", _complex, FLOATS)
define_host("polar", numpy_polar, FLOATS)
define_host("angle", numpy_angle, (*FLOATS, *COMPLEX))
