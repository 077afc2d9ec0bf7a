"""The vector norm, from which other norms are derived."""
from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from ...backend.host.reduce import root_of_squares
from ...backend.table import kernel
from ...core.dtype import dtype, float32, float64
from ...core.promotion import promote_types, refuse_other_dtype
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, recording, tensor_of
from ...tape.composite import record
from ...tape.ways import followed, fused, in_arrays
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import call, finish_exactly, type_word, wrap_dims
from .._numbers import refuse_tracked
from .._operation import operation
from ..elementwise.compare import where
from ..elementwise.complex_views import imag, real
from . import reduce

PUBLIC_IN = "linalg"

_p_norm = kernel("p_norm")


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def vector_norm(
    x: TensorBase, ord: complex = 2, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None,
    out: TensorBase | None = None
) -> TensorBase:
    """Return the ``ord``-norm of all elements as a vector, or along ``dim``."""
    if isinstance(ord, builtins.complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    refuse_tracked(ord)
    if x._ms_dtype.is_integral:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {type_word(x._ms_dtype)}"
        )
    if dtype is not None:
        refuse_norm_dtype("linalg.vector_norm", x._ms_dtype, dtype)
        x = x.to(dtype)
    shape = x._ms_shape
    dims = wrap_dims(dim, len(shape))
    if (math.isinf(ord) or ord < 0) and any(shape[d] == 0 for d in dims):
        name = "inf" if math.isinf(ord) else f"{ord:g}"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {name} norm on an empty tensor because the operation does not have an identity"
        )
    p, axes = float(ord), dims if shape else None
    if not followed((x,)):
        return finish_exactly(_rounded(x, p, axes, keepdim), out)
    found = _rounded(x.detach(), p, axes, keepdim)
    return finish_exactly(record("LinalgVectorNormBackward0", norm_slope, (x,), (found,), p, axes, keepdim)[0], out)


def refuse_norm_dtype(name: str, own: dtype, asked: dtype) -> None:
    """Raise torch's error for a ``dtype`` of a norm that is not floating, or not complex as the input is, or narrower than the input's."""
    refuse_other_dtype(name.replace(".", "_"), asked)
    if asked.is_integral:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {type_word(asked)}")
    if own.is_complex != asked.is_complex:
        number = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {number} for {number} inputs, but got {type_word(asked)}")
    if promote_types(own, asked) is not asked:
        raise RuntimeError(
            f"{name}: the dtype of the input ({type_word(own)}) should be convertible without narrowing to the specified dtype "
            f"({type_word(asked)})"
        )


def _rounded(x: TensorBase, p: float, dims: Any, keepdim: bool) -> TensorBase:
    """Return the norm; half precision is computed in float32 and rounded once at the end."""
    if p in (1, 2, math.inf) and x._ms_shape and 0 not in x._ms_shape and fused("p_norm", x._ms_dtype, x):
        return call(_p_norm, (x,), p, dims or tuple(range(len(x._ms_shape))), keepdim, True)
    if p == 2 and x._ms_shape and x._ms_dtype in (float32, float64) and in_arrays(x) and not LEVELS and not recording((x,)):
        return tensor_of(root_of_squares(array_of(x), dims, keepdim))
    if x._ms_dtype.name in ("float16", "bfloat16"):
        return _norm(x.float(), p, dims, keepdim).to(x._ms_dtype)
    return _norm(x, p, dims, keepdim)


def norm_slope(
    gradients: Sequence[TensorBase], outputs: Any, inputs: Sequence[TensorBase], p: float, dims: tuple[int, ...] | None, keepdim: bool
) -> tuple[TensorBase | None, ...]:
    """Return the gradient of the norm, computed from the input and the norm (torch saves both); 0 where the norm is 0 or not
    differentiable."""
    (g,), (y,), (x,) = gradients, outputs, inputs
    if p == 0 or g is None:
        return (None,)
    if dims and not keepdim:
        around = [1 if d in dims else n for d, n in enumerate(x._ms_shape)]
        g, y = g.reshape(around), y.reshape(around)
    if p == 1:
        return (x.sgn() * g,)
    if p == 2:
        return ((x / y).masked_fill(y.eq(0), 0) * g,)
    size = x.abs()
    if math.isinf(p):
        largest = size.eq(y) | size.isnan() & y.isnan()
        return (x.sgn() * (largest / reduce.sum(largest, dims, True) * g).to(x._ms_dtype),)
    if p < 1:
        return ((x.sgn() * size.pow(p - 1)).masked_fill(x.eq(0), 0) * g * y.pow(1 - p),)
    scaled = x.sgn() * size.pow(p - 1) if p < 2 else x * size.pow(p - 2)
    flat = y.eq(0)  # the divisor is replaced there, because a derivative of the quotient would be NaN
    return (scaled * (g / y.masked_fill(flat, 1).pow(p - 1)).masked_fill(flat, 0),)


def _norm(x: TensorBase, p: float, dims: tuple[int, ...], keepdim: bool) -> TensorBase:
    """Return the norm; where the norm or an element is zero, the gradient is zero, as torch defines it."""
    if p == 0:
        count = reduce.sum(x.detach().ne(0).to(x._ms_dtype.to_real()), dims, keepdim)
        # A step function: its gradient is zero, not absent.
        return count + reduce.sum(where(x.detach().eq(x.detach()).bitwise_or(True), 0.0, x.abs()), dims, keepdim) if recording(
            (x,)
        ) else count
    if p == 2:
        squares = reduce.sum(_squares(x), dims, keepdim)
        return _root(squares, 0.5) if recording((x,)) else squares.sqrt()
    size = x.abs()
    if p == math.inf:
        return reduce.amax(size, dims or (), keepdim)
    if p == -math.inf:
        return reduce.amin(size, dims or (), keepdim)
    if p == 1:
        return reduce.sum(size, dims, keepdim)
    if not recording((x,)):
        return reduce.sum(size.pow(p), dims, keepdim).pow(1.0 / p)
    if p < 2:
        zero = size.detach().eq(0)
        powers = where(zero, 0.0 if p > 0 else math.inf, where(zero, 1.0, size).pow(p))
    else:
        powers = size.pow(p)
    return _root(reduce.sum(powers, dims, keepdim), 1.0 / p)


def _squares(x: Any) -> TensorBase:
    if not x._ms_dtype.is_complex:
        return x * x
    a, b = real(x), imag(x)
    return a * a + b * b


def _root(total: Any, power: float) -> Any:
    flat = total.detach().eq(0)
    safe = where(flat, 1.0, total)
    root = safe.sqrt() if power == 0.5 else safe.pow(power)
    return where(flat, 0.0 if power > 0 else math.inf, root)


