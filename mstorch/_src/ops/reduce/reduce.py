"""Reductions: sums, means, extremes, any and all, variances."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .... import return_types
from ...backend.errors import not_for
from ...backend.host.reduce import sum_of_small
from ...backend.table import Kernel, kernel
from ...core.dtype import bool_, dtype, int64, uint8
from ...core.resized import resize
from ...core.storage import home
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, fresh, recording
from ...tape.composite import record as record_composite
from ...tape.ways import in_arrays
from ...tape.whole import followed
from .._autocast import FLOAT32, FLOAT32_ON_DEVICES
from .._dispatch import (
    call,
    cast_tensor,
    expect_out_dtype,
    finish,
    finish_exactly,
    refuse_codes,
    type_word,
    wrap_dim,
    wrap_dims,
)
from .._fresh_out import no_derivative
from .._memory_order import row_major
from .._named import node_called
from .._operation import operation
from .._overlaps import refuse_parts
from .._parts import expect_parts
from .._two_forms import ABSENT, of_all
from ..elementwise.compare import isnan, maximum, minimum, where
from ..shape import views
from ._values_at import values_at, without_dim

_sum = kernel("sum")
_mean = kernel("mean")
_prod = kernel("prod")
_amax = kernel("amax")
_amin = kernel("amin")
_argmax = kernel("argmax")
_argmin = kernel("argmin")
_all = kernel("all")
_any = kernel("any")
_LONG = 1 << 16


def summed_dtype(input: TensorBase, asked: dtype | None, out: TensorBase | None) -> dtype:
    """Return the dtype of a sum or product: ``asked`` if given, else the dtype of ``out`` if given, else int64 for integer inputs and the
    input's dtype for others."""
    return asked or (out._ms_dtype if isinstance(out, TensorBase) else int64 if input._ms_dtype.is_integral else input._ms_dtype)


def _refuse_recorded(name: str, input: TensorBase, out: TensorBase | None) -> None:
    """Raise torch's error if there is an ``out=`` and autograd would have to track the operation, even for an integer result."""
    if isinstance(out, TensorBase) and recording((input, out)):
        raise no_derivative(name)


def _is_long_and_small(input: TensorBase) -> bool:
    """Return whether a host tensor has many integers narrower than int64."""
    few = not input._ms_dtype.is_integral or input._ms_dtype.itemsize == 8 or math.prod(input._ms_shape) < _LONG
    return not few and not LEVELS and in_arrays(input)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def sum(
    input: TensorBase, dim: int | tuple[int, ...] | None = ABSENT, keepdim: bool = ABSENT, *, dtype: dtype | None = None,
    out: TensorBase | None = None,
) -> Any:
    """Return the sum of all elements, or along ``dim``; integers accumulate in int64."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"sum(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    whole = dim is ABSENT and of_all("sum", dim, keepdim)
    dims = tuple(range(len(input._ms_shape))) if whole else wrap_dims(dim, len(input._ms_shape))
    keepdim = keepdim is not ABSENT and keepdim
    kind = summed_dtype(input, dtype, out)
    _refuse_recorded("sum", input, out)
    if out is not None:
        expect_out_dtype(out, dtype or out._ms_dtype)
    if kind is bool_:
        found = call(_sum, (cast_tensor(input, bool_),), dims, keepdim, dtype=int64).to(bool_)
    elif kind is int64 and _is_long_and_small(input) and dims:
        found = fresh(sum_of_small(array_of(input), dims, keepdim))
    else:
        found = call(_sum, (input,), dims, keepdim, dtype=kind, label="SumBackward0" if whole else None)
    return finish(found, out)


@operation(numpy_names=True)
def nansum(
    input: TensorBase, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtype | None = None,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the sum with NaN treated as zero."""
    if input._ms_dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if not input._ms_dtype.is_floating_point:
        return sum(input, dim, keepdim, dtype=dtype, out=out)
    if dtype is not None and dtype.is_complex:
        raise not_for("nansum_cpu", dtype.name)
    if out is None and followed((input,)):
        found = nansum(input.detach(), dim, keepdim, dtype=dtype)
        rank = len(input._ms_shape)
        dims = () if keepdim or not rank else wrap_dims(dim, rank)
        return record_composite("NansumBackward0", _nansum_slope, (input,), (found,), dims, needed=())[0]
    return sum(where(isnan(input), 0.0, input), dim, keepdim, dtype=dtype, out=out)


def _nansum_slope(
    gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase], dims: tuple[int, ...]
) -> tuple[TensorBase]:
    """Return the gradient of ``nansum``: 0 where the input is NaN, except that an infinite incoming gradient gives NaN there."""
    (g,), (x,) = gradients, inputs
    if g is None:
        return (None,)
    if dims:
        g = views.reshape(g, tuple(1 if d in dims else n for d, n in enumerate(x._ms_shape)))
    return ((g * isnan(x).logical_not()).to(x._ms_dtype),)


@operation(numpy_names=True)
def mean(
    input: TensorBase, dim: tuple[int, ...] | None = ABSENT, keepdim: bool = ABSENT, *, dtype: dtype | None = None,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the mean of all elements, or along ``dim``. Raise RuntimeError for integers and bools, unless a floating or complex ``dtype``
    is given."""
    whole = dim is ABSENT and of_all("mean", dim, keepdim)
    keepdim = keepdim is not ABSENT and keepdim
    kind = dtype or input._ms_dtype
    if kind.is_integral:
        what = "Optional" if dtype is not None else "Input"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. "
            f"Got: {type_word(kind)}"
        )
    _refuse_recorded("mean", input, out)
    dims = tuple(range(len(input._ms_shape))) if whole else wrap_dims(dim, len(input._ms_shape))
    return finish(call(_mean, (input,), dims, keepdim, dtype=kind, label="MeanBackward0" if whole else None), out)


@operation(numpy_names=True)
def nanmean(
    input: TensorBase, dim: int | tuple[int, int] | None = None, keepdim: bool = False, *, dtype: dtype | None = None,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the mean of the elements that are not NaN."""
    if not input._ms_dtype.is_floating_point and not input._ms_dtype.is_complex:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {type_word(input._ms_dtype)}")
    if dtype is not None and dtype.is_integral:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: "
            f"{type_word(dtype)}"
        )
    count = sum(isnan(input).logical_not(), dim, keepdim)
    return finish(nansum(input, dim, keepdim, dtype=dtype) / count, out)


@operation(numpy_names=True, autocast=FLOAT32)
def prod(
    input: Any, dim: int = ABSENT, keepdim: bool = ABSENT, *, dtype: dtype | None = None, out: TensorBase | None = None
) -> TensorBase:
    """Return the product of all elements, or along ``dim``; integers accumulate in int64."""
    whole = of_all("prod", dim, keepdim)
    keepdim = keepdim is not ABSENT and keepdim
    kind = summed_dtype(input, dtype, out)
    rank = len(input._ms_shape)
    if isinstance(dim, (tuple, list)):
        raise TypeError(
            f"prod() received an invalid combination of arguments - got (Tensor, {type(dim).__name__}), but expected one of:\n"
            " * (Tensor input, *, torch.dtype dtype = None)\n"
            " * (Tensor input, int dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)"
        )
    _refuse_recorded("prod", input, out)
    dims = tuple(range(rank)) if whole else (wrap_dim(dim, rank),)
    if out is not None:
        expect_out_dtype(out, dtype or out._ms_dtype)
    if kind is bool_:
        found = call(_prod, (cast_tensor(input, bool_),), dims, keepdim, dtype=uint8).to(bool_)
    else:
        found = call(_prod, (input,), dims, keepdim, dtype=kind, label=None if whole else "ProdBackward1")
    return finish(found, out)


def _check_not_empty(name: str, shape: tuple[int, ...], dims: Sequence[int], whole: bool) -> None:
    for d in dims:
        if shape and shape[d] == 0:
            if whole:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                    "the 'dim' argument."
                )
            raise IndexError(f"{name if name == 'aminmax' else name + '()'}: Expected reduction dim {d} to have non-zero size.")


def _extreme(
    kernel_: Kernel, name: str, input: TensorBase, dim: int | Sequence[int] | None, keepdim: bool, label: str | None = None
) -> Any:
    shape = input._ms_shape
    dims = wrap_dims(dim, len(shape))
    empty = 0 in shape
    if empty:  # torch's message of these two names the dimension as it was given
        as_given = dims if dim is None or dim == () or name == "aminmax" else (dim,) if isinstance(dim, int) else dim
        _check_not_empty(name, shape, as_given, dim is None or dim == ())
    if not empty or name == "aminmax":  # the others take empty tensors of any dtype
        if input._ms_dtype.is_complex:
            word = {"amax": "max_values_cpu", "amin": "min_values_cpu", "aminmax": "aminmax_cpu"}.get(name, f"{name}_all")
            raise not_for(word, input._ms_dtype.name)
        if name == "aminmax":
            refuse_codes("aminmax_cpu", input)
    if empty:
        return _empty_result(input, shape, dims, keepdim)
    return call(kernel_, (input,), dims, keepdim, label=label)


def _empty_result(input: TensorBase, shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> TensorBase:
    left = tuple(1 if i in dims else n for i, n in enumerate(shape) if keepdim or i not in dims)
    return row_major(views.reshape(input, left).clone())


def _match_out(input: TensorBase, out: TensorBase | None) -> None:
    if isinstance(out, TensorBase) and out._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            f"Expected the dtype for input and out to match, but got {type_word(input._ms_dtype)} for input's dtype and "
            f"{type_word(out._ms_dtype)} for out's dtype."
        )


@operation(numpy_names=True)
def amax(input: TensorBase, dim: int | tuple[int, ...] = (), keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the maximum of all elements or along ``dim``; ties share the gradient."""
    _match_out(input, out)
    return finish(_extreme(_amax, "amax", input, dim, keepdim), out)


@operation(numpy_names=True)
def amin(input: TensorBase, dim: int | tuple[int, ...] = (), keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the minimum of all elements or along ``dim``; ties share the gradient."""
    _match_out(input, out)
    return finish(_extreme(_amin, "amin", input, dim, keepdim), out)


@operation(numpy_names=True)
@node_called("AminmaxBackward0")
def aminmax(input: TensorBase, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """Return the minimum and maximum of all elements or along ``dim``."""
    shape = input._ms_shape
    dims = wrap_dims(dim, len(shape))
    if dim is None and math.prod(input._ms_shape) == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    expect_parts("aminmax", out)
    for target in out or ():
        expect_out_dtype(target, input._ms_dtype)
    refuse_parts(out, input)
    low = _extreme(_amin, "aminmax", input, dims, keepdim)
    high = _extreme(_amax, "aminmax", input, dims, keepdim)
    return finish(return_types.aminmax((low, high)), out)


def _arg(kernel_: Kernel, name: str, input: TensorBase, dim: int | None, keepdim: bool) -> TensorBase:
    shape = input._ms_shape
    if input._ms_dtype is bool_ or input._ms_dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support {'bool' if input._ms_dtype is bool_ else 'complex'} input")
    if dim is None:
        if math.prod(input._ms_shape) == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument."
            )
        found = call(kernel_, (views.reshape(input.detach(), (-1,)),), 0, False)
        return views.reshape(found, (1,) * len(shape)) if keepdim else found
    dim = wrap_dim(dim, len(shape))
    _check_not_empty(name, shape, (dim,), False)
    if math.prod(input._ms_shape) == 0:
        return _empty_result(input.to(int64), shape, (dim,), keepdim)
    return call(kernel_, (input,), dim, keepdim)


@operation(numpy_names=True)
def argmax(input: TensorBase, dim: int | None = None, keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the int64 index of the maximum, the first of ties."""
    return finish_exactly(_arg(_argmax, "argmax", input, dim, keepdim), out)


@operation(numpy_names=True)
def argmin(input: TensorBase, dim: int | None = None, keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the int64 index of the minimum, the first of ties."""
    return finish_exactly(_arg(_argmin, "argmin", input, dim, keepdim), out)


def _with_indices(arg_kernel: Kernel, name: str, kind: type, input: TensorBase, dim: int, keepdim: bool) -> Any:
    """Return the maxima or minima along a dimension with their indices; only the element at the returned index gets a gradient."""
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    _check_not_empty(name, shape, (dim,), False)
    if input._ms_dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    if math.prod(input._ms_shape) == 0:
        return kind((_empty_result(input, shape, (dim,), keepdim), _empty_result(input.to(int64), shape, (dim,), keepdim)))
    source = input.to(uint8) if input._ms_dtype is bool_ else input
    indices = call(arg_kernel, (source.detach() if recording((source,)) else source,), dim, True)
    if not shape:
        input, indices, keepdim = views.reshape(input, (1,)), views.reshape(indices, (1,)), False
    shown = indices if keepdim else without_dim(indices, dim)
    return kind((values_at(input, dim, indices, f"{name.capitalize()}Backward0", shown, keepdim), shown))


@operation(numpy_names=True)
def max(input: TensorBase, dim: Any = ABSENT, keepdim: bool = ABSENT, *, other: Any = None, out: Any = None) -> Any:
    """Return the maximum; with ``dim`` also its indices along this dimension; with a tensor the elementwise maximum."""
    dim = int(dim) if keepdim is not ABSENT and isinstance(dim, TensorBase) else dim
    if isinstance(dim, TensorBase) or other is not None:
        return maximum(input, dim if other is None else other, out=out)
    if of_all("max", dim, keepdim):
        return finish(_extreme_of_all(_amax, "max", input), out)
    return _extremes(_argmax, "max", return_types.max, input, dim, keepdim is not ABSENT and keepdim, out)


@operation(numpy_names=True)
def min(input: TensorBase, dim: Any = ABSENT, keepdim: bool = ABSENT, *, other: Any = None, out: Any = None) -> Any:
    """Return the minimum; with ``dim`` also its indices along this dimension; with a tensor the elementwise minimum."""
    dim = int(dim) if keepdim is not ABSENT and isinstance(dim, TensorBase) else dim
    if isinstance(dim, TensorBase) or other is not None:
        return minimum(input, dim if other is None else other, out=out)
    if of_all("min", dim, keepdim):
        return finish(_extreme_of_all(_amin, "min", input), out)
    return _extremes(_argmin, "min", return_types.min, input, dim, keepdim is not ABSENT and keepdim, out)


def _extremes(
    arg_kernel: Kernel, name: str, kind: type, input: TensorBase, dim: int, keepdim: bool, out: Any
) -> Any:
    """Return maxima or minima and their indices. As in torch, ``out=`` is resized before the input is read, even if both are the same
    tensor.
    """
    expect_parts(name, out)
    found = _with_indices(arg_kernel, name, kind, input, dim, keepdim)
    refuse_parts(out, input, found[0]._ms_shape)
    if out is not None and out[0] is input and not keepdim and home(input).grows and not recording((input,)):
        place = wrap_dim(dim, len(input._ms_shape))
        resize(input, found[0]._ms_shape)
        if not math.prod(input._ms_shape):
            wrap_dim(place, len(input._ms_shape))
        elif place < len(input._ms_shape) or not input._ms_shape:
            found = _with_indices(arg_kernel, name, kind, input, place, keepdim)
    return finish_exactly(found, out)


def _extreme_of_all(kernel_: Kernel, name: str, input: TensorBase) -> Any:
    if math.prod(input._ms_shape) == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
            "argument."
        )
    return _extreme(kernel_, name, input, None, False, f"{name.capitalize()}Backward1")


def _truth(kernel_: Kernel, name: str, input: TensorBase, dim: int | None, keepdim: bool, out: TensorBase | None) -> TensorBase:
    if isinstance(out, TensorBase) and out._ms_dtype not in (bool_, uint8):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {type_word(out._ms_dtype)}")
    if dim.__class__ in (tuple, list) and not dim:  # () means no dimensions, unlike in other reductions
        found = input.detach().ne(0)
        return finish(found.to(uint8) if input._ms_dtype is uint8 else found, out)
    dims = wrap_dims(dim, len(input._ms_shape))
    source = input if input._ms_dtype is bool_ else input.detach().ne(0)
    found = call(kernel_, (source,), dims, keepdim)
    if input._ms_dtype is uint8 and out is None or out is not None and out._ms_dtype is uint8:
        found = found.to(uint8)
    return finish(found, out)


@operation(numpy_names=True)
def all(input: TensorBase, dim: int | None = None, keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether all elements are true, or all along ``dim``."""
    return _truth(_all, "all", input, dim, keepdim, out)


@operation(numpy_names=True)
def any(input: TensorBase, dim: int | None = None, keepdim: bool = False, *, out: TensorBase | None = None) -> Any:
    """Return whether any element is true, or any along ``dim``."""
    return _truth(_any, "any", input, dim, keepdim, out)


@operation(numpy_names=True)
def count_nonzero(input: TensorBase, dim: int | tuple[int, int] | None = None) -> TensorBase:
    """Return the number of nonzero elements, int64."""
    if dim is None:
        refuse_codes("nonzero_count_cpu", input)
    return sum(input.detach().ne(0), dim)
