"""Kernels of complex numbers, and views in another dtype."""

from __future__ import annotations

import numpy as np
from mindspore import ops

from .. import tape
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import COMPLEX, FLOATS, define
from ._nodes import PARTS, imaginary_part, node, prim_add, prim_conj, prim_mul, prim_sub, real_part, recorded, sum_to
from .views import ops_reshape as _reshape

_complex = ops.Complex()
_cos = ops.Cos()
_sin = ops.Sin()
_stack = ops.Stack(-1)
_WHOLE = {part: whole for whole, part in PARTS.items()}


def _join(real: Raw, imaginary: Raw) -> Raw:
    shape = np.broadcast_shapes(tuple(real.shape), tuple(imaginary.shape))
    if real.size and imaginary.size:
        # MindSpore's Complex fails for shapes of different ranks.
        spread = ops.BroadcastTo(shape)
        return _complex(
            real if tuple(real.shape) == shape else spread(real),
            imaginary if tuple(imaginary.shape) == shape else spread(imaginary),
        )
    return from_numpy(np.zeros(shape, NP_DTYPE[_WHOLE[NAME_OF[real.dtype]]]))


def _join_backward(gradient: Raw, result: Raw, real: Raw, imaginary: Raw) -> tuple[Raw, Raw]:
    return sum_to(real_part(gradient), real.shape), sum_to(imaginary_part(gradient), imaginary.shape)


def _polar(size: Raw, angle: Raw) -> Raw:
    return _join(prim_mul(size, _cos(angle)), prim_mul(size, _sin(angle)))


def _polar_backward(gradient: Raw, result: Raw, size: Raw, angle: Raw) -> tuple[Raw, Raw]:
    real, imaginary = real_part(gradient), imaginary_part(gradient)
    cosine, sine = _cos(angle), _sin(angle)
    along = prim_add(prim_mul(real, cosine), prim_mul(imaginary, sine))
    across = prim_mul(size, prim_sub(prim_mul(imaginary, cosine), prim_mul(real, sine)))
    return sum_to(along, size.shape), sum_to(across, angle.shape)


def _seen_as(raw: Raw, name: str) -> Raw:
    values = np.ascontiguousarray(raw.asnumpy()).reshape(-1)
    return from_numpy(values.view(NP_DTYPE[name]))


def _seen_backward(gradient: Raw, result: Raw, raw: Raw, name: str) -> Raw:
    return _reshape(reinterpret(gradient, NAME_OF[raw.dtype]), tuple(raw.shape))


_recorded_reinterpret = node("ViewAsRealBackward0", _seen_as, _seen_backward)


def composed_reinterpret(raw: Raw, name: str) -> Raw:
    """Convert flat elements between complex numbers and real pairs, composed of MindSpore ops."""
    if name in PARTS:
        pairs = _reshape(raw, (-1, 2))
        return _complex(pairs[:, 0], pairs[:, 1])
    return _reshape(_stack((real_part(raw), imaginary_part(raw))), (-1,))


def reinterpret(raw: Raw, name: str) -> Raw:
    """View the memory as flat elements of the dtype ``name``; differentiable between complex numbers and their parts."""
    if tape.tracing() is not None:
        return composed_reinterpret(raw, name)
    source = NAME_OF[raw.dtype]
    if recorded(raw) and (PARTS.get(source) == name or _WHOLE.get(source) == name):
        return _recorded_reinterpret(raw, name)
    return _seen_as(raw, name)


define(
    "view_dtype", cpu=reinterpret,
    numpy_reason="MindSpore has no view of memory in another dtype; nothing is computed",
)  # fmt: skip
define("conj", cpu=prim_conj, dtypes=COMPLEX)
define("complex", cpu=node("ComplexBackward0", _join, _join_backward, _join), dtypes=FLOATS)
define("polar", cpu=node("PolarBackward0", _polar, _polar_backward), dtypes=FLOATS)
