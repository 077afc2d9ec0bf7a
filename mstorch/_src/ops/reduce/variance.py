"""Variances and standard deviations, also together with the mean."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backend.arrays import Array
from ...backend.host.reduce import numpy_variance, root_slope, variance_slope
from ...backend.table import kernel
from ...core.dtype import complex32
from ...core.modes import grad_set_to, modes
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, fresh, recording, value_of
from ...core.warned import warn
from ...tape import vocabulary as v
from ...tape.apply import apply
from ...tape.composite import record as record_composite
from ...tape.saved_values import watch
from ...tape.ways import in_arrays
from ...tape.whole import followed, has_kernel, in_one_piece, record
from .._dispatch import finish, readable, refuse_codes, type_word, wrap_dims
from .._operation import operation
from ..elementwise.compare import where
from ..elementwise.complex_views import view_as_complex, view_as_real
from ..shape import views
from ..shape.join import stack
from .reduce import mean, sum

_var_mean = kernel("var_mean")


def _rounded_once(input: TensorBase, compute: Callable[[Any], Any]) -> Any:
    """Return the result of ``compute``; half precision is computed in float32, and only the result is rounded."""
    if input._ms_dtype.name not in ("float16", "bfloat16"):
        return compute(input)
    found = compute(input.float())
    return tuple(part.to(input._ms_dtype) for part in found) if isinstance(found, tuple) else found.to(input._ms_dtype)


def _variance(input: TensorBase, dim: int | tuple[int, ...] | None, correction: Any, keepdim: bool, name: str) -> tuple[Any, Any]:
    """Return the variance and mean along ``dim``, from squared deviations."""
    if input._ms_dtype.is_integral:
        word = name if "mean" in name else "std and var"
        raise RuntimeError(f"{word} only support floating point and complex dtypes")
    shape = input._ms_shape
    dims = wrap_dims(dim, len(shape))
    count = math.prod(shape[d] for d in dims) if shape else 1
    _warn_of_freedom(input, count - correction, name)
    centre = mean(input, dims if shape else None, True)
    away = input - centre
    rest = count - correction
    parts = (away.real, away.imag) if input._ms_dtype.is_complex else (away,)  # torch's complex variance is the sum of the parts' variances
    spreads = [sum(part * part, dims if shape else None, keepdim) / (rest if rest > 0 else 0.0) for part in parts]
    variance = spreads[0] if len(spreads) == 1 else spreads[0] + spreads[1]
    return variance, centre if keepdim else views.reshape(centre, variance._ms_shape)


def _warn_of_freedom(input: TensorBase, rest: float, name: str) -> None:
    """Warn as torch does if the degrees of freedom are not positive."""
    if rest <= 0 or 0 in input._ms_shape:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided "
            "by output numel).",
        )


def _spread(input: TensorBase, dim: int | tuple[int, ...] | None, correction: int, keepdim: bool, name: str) -> Any:
    """Return the variance, or for ``name`` "std" its square root; as a single autograd node if float32 or float64 in host memory."""
    if input._ms_dtype is complex32:
        return _of_halves(input, dim, correction, keepdim, name)[0]
    if input._ms_dtype.ms is None and len(wrap_dims(dim, len(input._ms_shape))) == len(input._ms_shape):
        raise RuntimeError(f"std_var_all: Unsupported dtype {type_word(input._ms_dtype)}")
    refuse_codes("std_cpu", input)
    if input._ms_shape and input._ms_dtype.name in ("float32", "float64") and in_one_piece((input,)):
        dims = wrap_dims(dim, len(input._ms_shape))
        count = math.prod(input._ms_shape[d] for d in dims)
        if count:
            _warn_of_freedom(input, count - correction, name)
            return _variance_on_host(input, dims, count - correction, keepdim, name, dim is None)
    found = _variance_on_device(input, wrap_dims(dim, len(input._ms_shape)), correction, keepdim, name)
    if found is not None:
        return found
    variance = _variance(input, dim, correction, keepdim, name)[0]
    return _deviation(variance) if name == "std" else variance


def _variance_on_host(input: TensorBase, dims: tuple[int, ...], rest: float, keepdim: bool, name: str, whole: bool) -> TensorBase:
    """Return the variance, or for ``name`` "std" its square root, as a single autograd node.

    ``rest`` is the divisor, the count minus ``correction``. If it is not positive, the gradient is torch's: infinite for a reduction of all
    elements (``whole``), else divided by ``rest`` as usual."""
    rooted = name == "std"
    found = numpy_variance(array_of(input), dims, keepdim, rest if rest > 0 else 0, rooted)
    result = fresh(found)
    if not followed((input,)):
        return result
    count = math.prod(input._ms_shape[d] for d in dims)
    divisor = None if whole and rest <= 0 else rest

    def slope(g: Array, x: Array) -> tuple[Array]:
        return (variance_slope(root_slope(g, found) if rooted else g, x, dims, keepdim, divisor),)

    def composed(x: TensorBase) -> TensorBase:
        variance = _variance(x, dims, count - rest, keepdim, name)[0]
        return _deviation(variance) if rooted else variance

    return record(result, (input,), "StdBackward0" if rooted else "VarBackward0", slope, composed, unchanged=rooted)


def _by_kernel(input: TensorBase, dims: tuple[int, ...], correction: Any, rooted: bool) -> tuple[TensorBase, TensorBase] | None:
    """Return the variance, or its root, and the mean by a device's kernel, with the reduced dimensions kept; None if the kernel does not
    serve the call."""
    if not input._ms_shape or 0 in input._ms_shape or not has_kernel("var_mean", input):
        return None
    if correction.__class__ is not int or math.prod(input._ms_shape[d] for d in dims) <= correction:
        return None
    with grad_set_to(False):
        spread, centre = apply(_var_mean, input._ms_dtype, (input,), (dims, correction, rooted))
    return spread, centre


def _variance_on_device(input: TensorBase, dims: tuple[int, ...], correction: Any, keepdim: bool, name: str) -> Any:
    """Return the variance, or for ``name`` "std" its square root, by a device's kernel, as a single autograd node; None without one."""
    rooted = name == "std"
    parts = _by_kernel(input, dims, correction, rooted)
    if parts is None:
        return None
    spread, centre = parts
    kept, shape = spread._ms_shape, tuple(n for d, n in enumerate(input._ms_shape) if d not in dims)
    result = spread if keepdim else views.reshape(spread, shape)
    if not followed((input,)):
        return result
    rest = math.prod(input._ms_shape[d] for d in dims) - correction
    root, middle = value_of(spread), value_of(centre)

    def slope(g: Any, x: Any) -> tuple[Any]:
        g = v.reshape(g, kept)
        share = v.times(v.where(v.eq(root, v.constant(0, root)), 0, v.div(g, root)), 1 / rest) if rooted else v.times(g, 2 / rest)
        return (v.mul(v.sub(x, middle), share),)

    def composed(x: TensorBase) -> TensorBase:
        variance = _variance(x, dims, correction, keepdim, name)[0]
        return _deviation(variance) if rooted else variance

    return record(result, (input,), "StdBackward0" if rooted else "VarBackward0", slope, composed, unchanged=rooted)


def _spread_args(dim: int | tuple[int, ...] | None, unbiased: bool | None, correction: int | None) -> tuple[Any, Any]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


@operation(numpy_names=True)
def var(
    input: TensorBase, dim: int | tuple[int, ...] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: Any = None, out: TensorBase | None = None
) -> TensorBase:
    """Return the variance: the sum of squared deviations over the count minus ``correction`` (1)."""
    dim, correction = _spread_args(dim, unbiased, correction)
    return finish(_rounded_once(input, lambda x: _spread(x, dim, correction, keepdim, "var")), out)


@operation(numpy_names=True)
def std(
    input: TensorBase, dim: int | tuple[int, int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: Any = None, out: TensorBase | None = None
) -> TensorBase:
    """Return the standard deviation, with the count minus ``correction`` (1) as divisor."""
    dim, correction = _spread_args(dim, unbiased, correction)
    return finish(_rounded_once(input, lambda x: _spread(x, dim, correction, keepdim, "std")), out)


def _deviation(variance: TensorBase) -> TensorBase:
    """Return the square root of a variance; where the variance is zero, so is the gradient."""
    if not recording((variance,)):
        return variance.sqrt()
    values = readable(variance)
    if values is not None and values.all():
        return variance.sqrt()
    flat = variance.detach().eq(0)
    found = where(flat, 0.0, where(flat, 1.0, variance).sqrt())
    return watch(found, found)


@operation(numpy_names=True)
def var_mean(
    input: TensorBase, dim: int | tuple[int, int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: Any = None, out: TensorBase | Sequence[TensorBase] | None = None
) -> tuple[Any, Any]:
    """Return the variance and the mean."""
    dim, correction = _spread_args(dim, unbiased, correction)
    return finish(_spread_and_mean(input, dim, correction, keepdim, "var_mean"), out)


@operation(numpy_names=True)
def std_mean(
    input: TensorBase, dim: int | tuple[int, int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: Any = None, out: TensorBase | Sequence[TensorBase] | None = None
) -> tuple[Any, Any]:
    """Return the standard deviation and the mean."""
    dim, correction = _spread_args(dim, unbiased, correction)
    return finish(_spread_and_mean(input, dim, correction, keepdim, "std_mean"), out)


def _spread_and_mean(input: TensorBase, dim: int | tuple[int, ...] | None, correction: int, keepdim: bool, name: str) -> tuple[Any, ...]:
    """Return the variance, or its square root if ``name`` is "std_mean", and the mean, as one autograd node with two outputs, as in torch.
    """
    if input._ms_dtype is complex32:
        return _of_halves(input, dim, correction, keepdim, name)
    refuse_codes("std_cpu", input)
    apart = followed((input,)) and not LEVELS

    def both(x: TensorBase) -> tuple[Any, Any]:
        parts = None if recording((x,)) else _by_kernel(x, wrap_dims(dim, len(x._ms_shape)), correction, name == "std_mean")
        if parts is not None:
            shape = tuple(n for d, n in enumerate(x._ms_shape) if d not in wrap_dims(dim, len(x._ms_shape)))
            return parts if keepdim else (views.reshape(parts[0], shape), views.reshape(parts[1], shape))
        variance, centre = _variance(x, dim, correction, keepdim, name)
        if x._ms_dtype.is_floating_point and not LEVELS and in_arrays(centre):
            centre = _running(centre, x, wrap_dims(dim, len(x._ms_shape)))
        return _deviation(variance) if name == "std_mean" else variance, centre

    with grad_set_to(modes.grad and not apart):
        found, centre = _rounded_once(input, both)
    if not apart:
        return found, centre
    dims = wrap_dims(dim, len(input._ms_shape))
    count = math.prod(input._ms_shape[d] for d in dims) if input._ms_shape else 1
    rest = None if dim is None and count <= correction else count - correction
    label = "StdMeanBackward0" if name == "std_mean" else "VarMeanBackward0"
    return record_composite(
        label, _spread_and_mean_slope, (input,), (found, centre), dims, count, rest, needed=(0,) if name == "std_mean" else ()
    )


def _of_halves(input: TensorBase, dim: int | tuple[int, ...] | None, correction: Any, keepdim: bool, name: str) -> tuple[Any, Any]:
    """Return the variance, or for "std" and "std_mean" its square root, and the mean of half-precision complex numbers. The variance is the
    sum of the variances of the real and imaginary parts."""
    pairs, dims = view_as_real(input), wrap_dims(dim, len(input._ms_shape))
    parts = [_spread_and_mean(views.select(pairs, -1, part), dims or None, correction, keepdim, "var_mean") for part in (0, 1)]
    variance = parts[0][0] + parts[1][0]
    return _deviation(variance) if name in ("std", "std_mean") else variance, view_as_complex(stack([mean for _, mean in parts], -1))


def _running(centre: TensorBase, x: TensorBase, dims: tuple[int, ...]) -> TensorBase:
    """Return the means ``centre`` with NaN in place of some infinite means: torch updates a mean element by element, and it becomes NaN
    after an infinite element unless this is the last one."""
    if not math.prod(centre._ms_shape) or not (infinite := centre.isinf()).any():
        return centre
    last, every = x, x.isinf()
    for dim in dims if x._ms_shape else ():
        last = views.slice_dim(last, dim, x._ms_shape[dim] - 1, x._ms_shape[dim], 1)
    alone = sum(every, dims, True).eq(1).logical_and(last.isinf())
    return centre.masked_fill(infinite.logical_and(alone.logical_not().reshape(infinite._ms_shape)), math.nan)


def _spread_and_mean_slope(
    gradients: list[Any], outputs: list[Any], inputs: list[Any], dims: tuple[int, ...], count: int, rest: int | None
) -> tuple[Any]:
    (input,) = inputs
    spread, centre = gradients
    root = outputs[0]
    shape = tuple(1 if d in dims else length for d, length in enumerate(input._ms_shape))
    found = None
    if spread is not None:
        if root is not None:
            spread = where(root.eq(0), 0.0, spread / (root * 2))
        away = input - mean(input, dims if shape else None, True)
        if rest is None:  # a full reduction whose divisor is not positive: infinite, as in torch
            found = (views.reshape(spread, shape) * where(away.eq(0), math.nan, math.inf)).to(input._ms_dtype)
        else:
            found = away * (views.reshape(spread, shape) * (2 / rest if rest else math.inf))
    if centre is not None:
        own = views.expand(views.reshape(centre, shape), input._ms_shape) / count
        found = own if found is None else found + own
    return (found,)
