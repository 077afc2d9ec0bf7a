"""Discrete Fourier transforms of complex numbers; ``_ops`` composes transforms of real numbers of them."""

from __future__ import annotations

import numpy as np
from mindspore import ops

from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import COMPLEX, define
from ._nodes import node

# The norm of the adjoint: the adjoint of a transform is the transform in the other direction with the same scale.
_ADJOINT = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _transform(raw: Raw, dims: tuple[int, ...], inverse: bool, norm: str) -> Raw:
    if raw.size == 0:
        return from_numpy(np.zeros(raw.shape, NP_DTYPE[NAME_OF[raw.dtype]]))
    one = ops.ifft if inverse else ops.fft
    for dim in dims:
        raw = one(raw, None, dim, norm)
    return raw


def _transform_backward(gradient: Raw, result: Raw, raw: Raw, dims: tuple[int, ...], inverse: bool, norm: str) -> Raw:
    return ops_fft(gradient, dims, not inverse, _ADJOINT[norm])


ops_fft = node("FftC2CBackward0", _transform, _transform_backward, _transform)

define("fft", cpu=ops_fft, dtypes=COMPLEX)
