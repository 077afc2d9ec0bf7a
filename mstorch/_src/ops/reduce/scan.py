"""Cumulative sums, products and extremes along a dimension; differences and integrals."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .... import return_types
from ...backend.errors import not_for
from ...backend.table import Kernel, kernel
from ...core.dtype import bool_, by_name, dtype, int64, uint8
from ...core.tensor_base import TensorBase, is_tracked
from ...core.writable import refuse_partial_overlap
from ...tape.composite import record
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import (
    call,
    cast_tensor,
    cpp_word,
    expect_out_dtype,
    finish,
    finish_exactly,
    refuse_dtype,
    type_word,
    without_grad,
    wrap_dim,
    wrap_dims,
)
from .._in_place import in_place
from .._named import node_called
from .._numbers import refuse_tracked
from .._operation import operation
from .._overlaps import refuse_partly, refuse_parts
from .._parts import expect_parts
from ..elementwise.elementwise import div, unkept
from ..elementwise.math import exp, log
from ..indexing.index import gather
from ..shape import views
from ..shape.join import cat, flip
from .reduce import summed_dtype

_cumsum = kernel("cumsum")
_cumprod = kernel("cumprod")
_cummax = kernel("cummax_indices")
_cummin = kernel("cummin_indices")
_logcumsumexp = kernel("logcumsumexp")


def _scan(kernel_: Kernel, input: TensorBase, dim: int, kind: dtype | None, out: TensorBase | None) -> TensorBase:
    dim = wrap_dim(dim, len(input._ms_shape))
    if kind is not None and out is not None:
        expect_out_dtype(out, kind)
    kind = summed_dtype(input, kind, out)
    if not kind.category and (not input._ms_shape or 0 in input._ms_shape):
        return finish(input.to(kind), out)  # there is nothing to add
    refuse_dtype(f"{kernel_.op}_out_cpu", kind)
    if isinstance(out, TensorBase):
        refuse_partial_overlap(out, input)
    return finish(call(kernel_, (input,), dim, dtype=kind), out)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def cumsum(input: TensorBase, dim: int, *, dtype: dtype | None = None, out: TensorBase | None = None) -> TensorBase:
    """Return the cumulative sums along ``dim``; integers accumulate in int64."""
    return _scan(_cumsum, input, dim, dtype, out)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def cumprod(input: TensorBase, dim: int, *, dtype: dtype | None = None, out: TensorBase | None = None) -> TensorBase:
    """Return the cumulative products along ``dim``; integers accumulate in int64."""
    return _scan(_cumprod, input, dim, dtype, out)


def cumsum_(self: TensorBase, dim: int, *, dtype: dtype | None = None) -> TensorBase:
    """In-place version of ``cumsum``, which accumulates in the tensor's own dtype."""
    return in_place(self, _scan_in_place, _cumsum, dim, dtype)


def cumprod_(self: TensorBase, dim: int, *, dtype: dtype | None = None) -> TensorBase:
    """In-place version of ``cumprod``, which accumulates in the tensor's own dtype."""
    return in_place(self, _scan_in_place, _cumprod, dim, dtype)


def _scan_in_place(input: TensorBase, kernel_: Kernel, dim: int, kind: dtype | None) -> TensorBase:
    if kind is not None and kind is not input._ms_dtype:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {cpp_word(input._ms_dtype)} and output tensor dtype {cpp_word(kind)} should match"
        )
    if math.prod(input._ms_shape) == 0 or not input._ms_shape:
        wrap_dim(dim, len(input._ms_shape))
        return input.clone()
    return _scan(kernel_, input, dim, input._ms_dtype, None)


def _running(kernel_: Kernel, name: str, kind: type, input: TensorBase, dim: int, out: Any) -> Any:
    if 0 in input._ms_shape:  # as in torch, nothing is checked, not even the dtype
        dim, indices = 0, input.new_zeros(input._ms_shape, dtype=int64)
    else:
        if input._ms_dtype.is_complex:
            raise not_for(f"{name}_cpu", input._ms_dtype.name)
        dim, asked = wrap_dim(dim, len(input._ms_shape)), input._ms_dtype.name
        ranked = cast_tensor(input.detach(), by_name(_WIDER[asked])) if asked in _WIDER else input.detach()
        indices = call(kernel_, (ranked,), dim)
    expect_parts(name, out)
    for target, wanted in zip(out or (), (input._ms_dtype, int64)):
        if target._ms_dtype is not wanted:
            raise RuntimeError(f"expected scalar_type {type_word(wanted)} but found {type_word(target._ms_dtype)}")
    return finish(kind((gather(input, dim, indices), indices)), out)


_WIDER = {"float16": "float32", "bfloat16": "float32", "bool": "uint8"}


@operation(numpy_names=True)
@node_called("CummaxBackward0")
def cummax(input: TensorBase, dim: int, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return the cumulative maximum along ``dim``, and its index."""
    return _running(_cummax, "cummax", return_types.cummax, input, dim, out)


@operation(numpy_names=True)
@node_called("CumminBackward0")
def cummin(input: TensorBase, dim: int, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return the cumulative minimum along ``dim``, and its index."""
    return _running(_cummin, "cummin", return_types.cummin, input, dim, out)


@operation(numpy_names=True)
def logcumsumexp(input: TensorBase, dim: int, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm of the cumulative sums of exponentials along ``dim``."""
    dim = wrap_dim(dim, len(input._ms_shape))
    if isinstance(out, TensorBase) and out._ms_dtype is not input._ms_dtype:
        raise RuntimeError(f"expected scalar_type {type_word(input._ms_dtype)} but found {type_word(out._ms_dtype)}")
    refuse_dtype("logcumsumexp_out_cpu", input._ms_dtype, below=2)
    refuse_parts(None if out is None else (out,), input)
    if input._ms_dtype.is_complex:
        with without_grad():
            found = call(_logcumsumexp, (input.detach(),), dim)

        def forward(tangents: Sequence[TensorBase], outputs: tuple[TensorBase, ...], inputs: tuple[TensorBase, ...]) -> Any:
            if not inputs[0]._ms_shape:
                return tangents
            weights = exp(inputs[0])  # as in torch, which ignores overflow
            return (cumsum(weights * tangents[0], dim) / cumsum(weights, dim),)

        return finish(record("LogcumsumexpBackward0", _logcumsumexp_backward, (input,), (found,), dim, forward=forward)[0], out)
    return finish(call(_logcumsumexp, (input,), dim), out)


def _logcumsumexp_backward(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], dim: int) -> Any:
    if not inputs[0]._ms_shape:
        return gradients
    behind = flip(logcumsumexp(flip(log(gradients[0]) - outputs[0].conj_physical(), (dim,)), dim), (dim,))
    return (exp(behind + inputs[0].conj_physical()),)


@operation(numpy_names=True)
def diff(
    input: TensorBase, n: int = 1, dim: int = -1, prepend: TensorBase | None = None, append: TensorBase | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the differences of neighbours along ``dim``, ``n`` times."""
    shape = input._ms_shape
    if not shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap_dim(dim, len(shape))
    for extra in (prepend, append):
        if extra is not None and len(extra._ms_shape) != len(shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    refuse_partly(out, input, prepend, append)
    if n == 0:
        return finish(input.clone(), out)
    for extra in (prepend, append):
        for place, (own, other) in enumerate(zip(shape, () if extra is None else extra._ms_shape)):
            if own != other and place != dim:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension;"
                    f" input.size({place}) = {own}, but got tensor.size({place}) = {other}"
                )
    parts = [part for part in (prepend, input, append) if part is not None]
    current = cat(parts, dim) if len(parts) > 1 else input
    # As in torch, at most as often as there are entries, and never for an empty dimension.
    for _ in range(min(n, current._ms_shape[dim])):
        length = current._ms_shape[dim]
        ahead = views.slice_dim(current, dim, 1, length, 1)
        behind = views.slice_dim(current, dim, 0, max(length - 1, 0), 1)
        current = ahead.logical_xor(behind) if current._ms_dtype is bool_ else ahead - behind
    words = "expected scalar_type {kind} but found {out}"
    return current if out is None else finish_exactly(current, out, words)  # the input itself, if the dimension is empty


def _pairs(y: TensorBase, dim: int) -> tuple[Any, Any]:
    length = y._ms_shape[dim]
    return views.slice_dim(y, dim, 1, length, 1), views.slice_dim(y, dim, 0, length - 1, 1)


def _steps(x: TensorBase, y: TensorBase, dim: int, name: str) -> TensorBase:
    """Return the distances between the sample points, shaped to multiply slices of ``y``."""
    shape = y._ms_shape
    if not x._ms_shape:
        raise RuntimeError("trapezoid() x must be at least one-dimensional")
    if len(x._ms_shape) == 1 and (len(shape) > 1 or x._ms_shape != shape):
        if x._ms_shape[0] != shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        return views.reshape(diff(x), (1,) * dim + (-1,) + (1,) * (len(shape) - dim - 1))
    if len(x._ms_shape) < len(shape):
        x = views.reshape(x, (1,) * (len(shape) - len(x._ms_shape)) + x._ms_shape)
    return diff(x, dim=dim)


@operation(numpy_names=True)
def trapezoid(y: TensorBase, x: TensorBase | None = None, *, dx: float | None = None, dim: int = -1) -> TensorBase:
    """Return the integral along ``dim`` by the trapezoidal rule, at points ``x`` or with spacing ``dx`` (1)."""
    refuse_tracked(dx)
    return _integral(y, x, dx, dim, False)


def _refuse_truth(name: str, y: TensorBase, x: TensorBase | None) -> None:
    if y._ms_dtype is bool_ or x is not None and x._ms_dtype is bool_:
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")


def _integral(y: TensorBase, x: TensorBase | None, dx: float | None, dim: int, running: bool) -> TensorBase:
    shape = y._ms_shape
    if x is not None and not isinstance(x, TensorBase):
        x, dx = None, x
    name = "cumulative_trapezoid" if running else "trapezoid"
    if isinstance(dx, bool):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if isinstance(dx, TensorBase) and dx._ms_shape:
        raise TypeError(f"{name}() received an invalid combination of arguments - got (Tensor, dx=Tensor)")
    if running:
        _refuse_truth("cumulative_trapezoid", y, x)
    if not shape:
        if running and (x is None or not x._ms_shape):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"Dimension specified as {dim if x is None else 0} but tensor has no dimensions")
    dim = wrap_dim(dim, len(shape))
    if not running:
        if shape[dim] == 0:
            return y.new_zeros(shape[:dim] + shape[dim + 1 :]).zero_()  # torch fills it, which counts as a write
        _refuse_truth("trapezoid", y, x)
    ahead, behind = _pairs(y, dim)
    sums = ahead + behind
    if x is None:
        scale = 1.0 if dx is None else dx
        if running:
            return unkept(cumsum(sums, dim), scale / 2.0, "MulBackward1")
        ends = unkept(views.select(y, dim, 0) + views.select(y, dim, -1), 0.5, "MulBackward1")
        return unkept(y.sum(dim) - ends, scale, "MulBackward1")
    total = sums * _steps(x, y, dim, "cumulative_trapezoid" if running else "trapezoid")
    return unkept(cumsum(total, dim) if running else total.sum(dim), 2.0, "DivBackward1", div)


trapz = trapezoid


@operation(numpy_names=True)
def cumulative_trapezoid(y: TensorBase, x: TensorBase | None = None, *, dx: float | None = None, dim: int = -1) -> TensorBase:
    """Return the cumulative integrals along ``dim`` by the trapezoidal rule."""
    refuse_tracked(dx)
    return _integral(y, x, dx, dim, True)


@operation(numpy_names=True)
def gradient(
    input: TensorBase, *, spacing: float | Sequence[TensorBase | float] = 1, dim: int | tuple[int, ...] | None = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """Return numerical derivatives along each of ``dim``: central differences, and one-sided ones at the ends."""
    if input._ms_dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    shape = input._ms_shape
    spacing = 1 if spacing is None else spacing
    dims = _gradient_dims(dim, len(shape))
    if isinstance(spacing, TensorBase) and not spacing._ms_shape and not is_tracked(spacing):
        spacing = spacing.item()
    if isinstance(spacing, TensorBase):
        spacings: Sequence[Any] = (spacing,)
    elif isinstance(spacing, (list, tuple)):
        spacings = tuple(spacing)
    else:
        spacings = (spacing,) * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
            f"length, but got a spacing argument of length {len(spacings)} and a dim argument of length {len(dims)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_derivative(input, d, step, edge_order) for d, step in zip(dims, spacings))


def _gradient_dims(dim: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(rank))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return wrap_dims(dims, rank) if dims else ()


def _over(difference: Any, step: TensorBase | float) -> TensorBase:
    return difference / step if isinstance(step, TensorBase) else unkept(difference, step, "DivBackward1", div)


def _derivative(input: TensorBase, dim: int, step: TensorBase | float, edge_order: int) -> TensorBase:
    length = input._ms_shape[dim]

    def part(start: int, stop: int) -> Any:
        return views.slice_dim(input, dim, start, stop, 1)

    if isinstance(step, TensorBase):
        along = views.reshape(diff(step), (1,) * dim + (-1,) + (1,) * (len(input._ms_shape) - dim - 1))

        def gap(start: int, stop: int) -> Any:
            return views.slice_dim(along, dim, start, stop, 1)
    else:
        def gap(start: int, stop: int) -> float:
            return step

    h0, h1 = gap(0, length - 2), gap(1, length - 1)
    pieces = []
    if edge_order == 1:
        pieces.append(_over(part(1, 2) - part(0, 1), gap(0, 1)))
    else:
        a, b = gap(0, 1), gap(1, 2)
        pieces.append(
            -(2.0 * a + b) / (a * (a + b)) * part(0, 1) + (a + b) / (a * b) * part(1, 2) - a / (b * (a + b)) * part(2, 3)
        )
    if length > 2:
        if isinstance(step, TensorBase):
            pieces.append(
                -h1 / (h0 * (h0 + h1)) * part(0, length - 2) + (h1 - h0) / (h0 * h1) * part(1, length - 1)
                + h0 / (h1 * (h0 + h1)) * part(2, length)
            )
        else:
            pieces.append(_over(part(2, length) - part(0, length - 2), 2.0 * step))
    if edge_order == 1:
        pieces.append(_over(part(length - 1, length) - part(length - 2, length - 1), gap(length - 2, length - 1)))
    else:
        a, b = gap(length - 3, length - 2), gap(length - 2, length - 1)
        pieces.append(
            b / (a * (a + b)) * part(length - 3, length - 2) - (a + b) / (a * b) * part(length - 2, length - 1)
            + (a + 2.0 * b) / (b * (a + b)) * part(length - 1, length)
        )
    return cat(pieces, dim)


NAMED_METHODS = {"cumsum_": cumsum_, "cumprod_": cumprod_}
