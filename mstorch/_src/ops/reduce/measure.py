"""Norms, distances, covariances, cross products."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...backend.arrays import Number
from ...backend.table import kernel
from ...core.dtype import bfloat16, bool_, dtype, float16, float32
from ...core.tensor_base import TensorBase, is_tracked
from ...core.warned import warn, warn_once
from ...tape.composite import record
from ...tape.saved_values import watch
from ...tape.ways import followed
from ...tape.whole import has_kernel
from .._autocast import FLOAT32_ON_DEVICES, WIDEST_ON_DEVICES
from .._dispatch import (
    broadcast_shape,
    call,
    expect_out_dtype,
    finish,
    finish_exactly,
    readable,
    refuse_dtype,
    type_word,
    values_of,
    wrap_dim,
)
from .._memory_order import row_major
from .._named import node_called
from .._numbers import refuse_tracked
from .._one_dtype import expect_dtype
from .._operation import operation
from ..elementwise.compare import where
from ..elementwise.complex_views import complex, imag, real
from ..linalg import linalg
from ..memory.copying import to_dtype
from ..shape import views
from ..shape.join import roll
from . import reduce
from .vector_norm import norm_slope, vector_norm


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def norm(
    input: TensorBase, p: Number | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    out: TensorBase | None = None, dtype: dtype | None = None
) -> TensorBase:
    """Return the norm of all elements or along ``dim``. The order is a number, "fro", or for matrices "nuc"."""
    if isinstance(p, str):
        if p == "nuc":
            dims = tuple(range(-2, 0)) if dim is None else dim
            return finish(linalg.matrix_norm(input, "nuc", dims, keepdim, dtype=dtype), out)
        if p != "fro":
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        p = 2.0
    elif p is None:
        p = 2.0
    if dim == ():
        dim = None
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def _norm_method(
    self: TensorBase, p: float | str = "fro", dim: int | None = None, keepdim: bool = False, dtype: dtype | None = None
) -> TensorBase:
    """Return the norm of all elements or along ``dim``."""
    return norm(self, p, dim, keepdim, dtype=dtype)


@operation(autocast=FLOAT32_ON_DEVICES)
@node_called("DistBackward0")
def dist(input: Any, other: TensorBase, p: Number | None = 2) -> TensorBase:
    """Return the p-norm of ``input - other``."""
    if not isinstance(other, TensorBase):
        raise TypeError(f"dist(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return watch(vector_norm(input - other, p), input, other)


_WIDER = {float16: float32, bfloat16: float32}


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES, arguments_first=True)
def renorm(input: Any, p: float, dim: int, maxnorm: float, *, out: TensorBase | None = None) -> TensorBase:
    """Return a copy in which each slice along ``dim`` whose norm exceeds ``maxnorm`` is scaled down to that norm."""
    refuse_tracked(maxnorm)
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if len(shape) < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {len(shape)} dimensions")
    others = tuple(d for d in range(len(shape)) if d != dim)
    own = input.detach() if followed((input,)) else input
    sizes = vector_norm(own, p, others, True, dtype=_WIDER.get(own._ms_dtype))  # the dtype in which torch accumulates
    factors = where(sizes.gt(maxnorm), maxnorm / (sizes + 1e-7), 1.0)
    found = row_major(own * (factors if own._ms_dtype.is_complex else to_dtype(factors, own._ms_dtype)))
    if own is not input:
        (found,) = record("RenormBackward0", _renorm_slope, (input,), (found,), float(p), others, maxnorm, needed=())
    return finish_exactly(found, out)


def _renorm_slope(
    gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase], p: float, others: tuple[int, ...], maxnorm: float
) -> tuple[TensorBase]:
    """Return the gradient of ``renorm``; slices that were not scaled pass it on unchanged."""
    (g,), (x,) = gradients, inputs
    if g is None:
        return (None,)
    sizes = vector_norm(x, p, others, True)
    inner = x.conj_physical() * g
    inner = reduce.sum(real(inner) if x._ms_dtype.is_complex else inner, others, True)
    (of_norm,) = norm_slope((inner,), (sizes,), (x,), p, others, True)
    inverse = (sizes + 1e-7).reciprocal()
    return (where(sizes.gt(maxnorm), maxnorm * inverse * (g - inverse * of_norm), g),)


def cov(input: TensorBase, *, correction: int = 1, fweights: TensorBase | None = None, aweights: TensorBase | None = None) -> Any:
    """Return the covariance matrix of the rows (variables) over the columns (observations)."""
    shape = input._ms_shape
    if len(shape) > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {len(shape)} dimensions"
        )
    if input._ms_dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = views.reshape(input, (1, -1)) if len(shape) < 2 else input
    count = rows._ms_shape[1]
    weights: Any = None
    for name, given, kinds in (("fweights", fweights, (1,)), ("aweights", aweights, (2,))):
        if given is None:
            continue
        if len(given._ms_shape) > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(given._ms_shape)} dimensions"
            )
        if given._ms_dtype.category not in kinds:
            what = "integral" if kinds == (1,) else "floating point"
            raise RuntimeError(f"cov(): expected {name} to have {what} dtype but got {name} with {type_word(given._ms_dtype)} dtype")
        if given.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got {given.numel()} "
                f"!= {count}"
            )
        values = values_of(given)  # torch waits for the device too
        if values is not None and not (values >= 0).all():
            raise RuntimeError(f"cov(): {name} cannot be negative")
        weights = given if weights is None else weights * given
    total = reduce.sum(weights) if weights is not None else count
    if weights is None:
        centre = (reduce.sum(rows, 1, True) / count) if rows._ms_dtype.is_integral else reduce.mean(rows, 1, True)
    else:
        centre = reduce.sum(rows * weights, 1, True) / total
    if aweights is None or correction == 0:
        divisor = total - correction
    elif fweights is None:
        divisor = total - correction * reduce.sum(weights * weights) / total
    else:
        divisor = total - correction * reduce.sum(weights * aweights) / total
    shown = readable(divisor) if isinstance(divisor, TensorBase) else divisor
    if shown is not None and shown <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
        )
    divisor = divisor.clamp(min=0) if isinstance(divisor, TensorBase) else max(divisor, 0)
    away = rows - centre
    weighted = away if weights is None else away * weights
    product = away.matmul(views.transpose(weighted, 0, 1).conj_physical())
    made = product / divisor if isinstance(divisor, TensorBase) else product / float(divisor)
    return views.squeeze(made)


def corrcoef(input: TensorBase) -> TensorBase:
    """Return the correlation matrix of the rows (variables) over the columns (observations)."""
    if len(input._ms_shape) > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{len(input._ms_shape)} dimensions"
        )
    table = cov(input)
    if not table._ms_shape:
        return table / table
    spread = views.diagonal(table)
    if spread._ms_dtype.is_complex:
        spread = spread.real
    spread = spread.sqrt()
    table = table / views.unsqueeze(spread, -1) / views.unsqueeze(spread, 0)
    if table._ms_dtype.is_complex:
        return complex(real(table).clamp(-1, 1), imag(table).clamp(-1, 1))
    return table.clamp(-1, 1)


@operation(numpy_names=True, autocast=WIDEST_ON_DEVICES)
@node_called("LinalgCrossBackward0")
def cross(input: TensorBase, other: TensorBase, dim: int | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the cross products of vectors along ``dim`` (by default the first of length 3)."""
    if isinstance(dim, TensorBase) and dim._ms_dtype.category == 1 and not dim._ms_shape:
        dim = int(dim)
    if isinstance(dim, TensorBase):
        raise TypeError("cross(): argument 'dim' (position 3) must be int, not Tensor")
    a, b = input._ms_shape, other._ms_shape
    if len(a) != len(b):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release."
        )
        dim = next((d for d, length in enumerate(a) if length == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    axis = wrap_dim(dim, len(a))
    if a[axis] != 3 or b[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[axis]} and {b[axis]}")
    shape = broadcast_shape(a, b)
    if isinstance(out, TensorBase):
        expect_out_dtype(out, input._ms_dtype)
    refuse_dtype("cross", input._ms_dtype)
    expect_dtype(input._ms_dtype, other)
    first, second = views.expand(input, shape), views.expand(other, shape)
    if a == b and has_kernel("cross", input, other):
        return finish_exactly(call(_cross, (input, other), axis), out)
    made = row_major(_of_rolled(first, second, axis))
    watch(made, other if is_tracked(input) else None, input if is_tracked(other) else None)
    return finish_exactly(made, out)


def _of_rolled(first: TensorBase, second: TensorBase, axis: int) -> TensorBase:
    """Return cross products composed of elementwise products."""
    made: TensorBase = roll(first, -1, axis) * roll(second, -2, axis) - roll(first, -2, axis) * roll(second, -1, axis)
    return made


_cross = kernel("cross")


NAMED_METHODS = {"norm": _norm_method}
