"""softmax, log_softmax and logsumexp."""
from __future__ import annotations

import math
from typing import Any

from ...backend.errors import not_for, wrong_type
from ...backend.table import Kernel, kernel
from ...core.dtype import dtype, finfo, float32
from ...core.modes import grad_set_to
from ...core.promotion import refuse_other_dtype
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase
from ...tape.composite import record
from ...tape.ways import followed, fused, in_arrays
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import call, finish, finish_exactly, wrap_dim, wrap_dims
from .._memory_order import row_major
from .._operation import operation
from ..elementwise.elementwise import neg
from ..shape import views
from .reduce import amax
from .reduce import sum as sum_of

_softmax = kernel("softmax")
_log_softmax, _log_sum_exp = kernel("log_softmax"), kernel("log_sum_exp")


def _along(kernel_: Kernel, name: str, input: TensorBase, dim: int, kind: dtype | None, out: TensorBase | None) -> TensorBase:
    axis = wrap_dim(dim, len(input._ms_shape))
    if kind is None:
        kind = input._ms_dtype
    elif kind.__class__ is not dtype:
        refuse_other_dtype(name.partition("_lastdim")[0], kind)
    if not kind.is_floating_point or kind.ms is None:
        if 0 not in input._ms_shape:
            raise not_for(name, kind.name)
        return finish_exactly(row_major(input.to(kind, copy=True)), out)
    result = call(kernel_, (input,), axis, dtype=kind)
    return result if out is None else finish_exactly(result, out)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def softmax(input: TensorBase, dim: int, dtype: dtype | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``exp(x)`` divided by its sum along ``dim``."""
    return _along(_softmax, "softmax_lastdim_kernel_impl", input, dim, dtype, out)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def log_softmax(input: TensorBase, dim: int, dtype: dtype | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm of the softmax, computed without overflow."""
    return _along(_log_softmax, "log_softmax_lastdim_kernel_impl", input, dim, dtype, out)


def softmin(input: TensorBase, dim: int, dtype: dtype | None = None) -> TensorBase:
    """Return the softmax of ``-x``."""
    return softmax(neg(input), dim, dtype)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def logsumexp(input: TensorBase, dim: int | tuple[int, int], keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm of the sum of exponentials, computed relative to the maximum."""
    if input._ms_dtype.is_integral:
        input = input.to(float32)
    if dim is None:
        raise wrong_type("logsumexp(): argument 'dim' (position 1) must be tuple of ints, not NoneType")
    dims = wrap_dims(dim, len(input._ms_shape))
    if math.prod(input._ms_shape) == 0:
        return finish(sum_of(input.exp(), dims, keepdim).log(), out)
    if not followed((input,)):
        return finish(_log_of_sums(input, dims, keepdim), out)
    with grad_set_to(False):
        found = _log_of_sums(input.detach(), dims, keepdim)
    return finish(record("LogsumexpBackward0", _shares, (input,), (found,), dims, keepdim)[0], out)


def _log_of_sums(input: TensorBase, dims: tuple[int, ...], keepdim: bool) -> TensorBase:
    if input._ms_shape and (fused("log_sum_exp", input._ms_dtype, input) or _is_of_one_kernel(input)):
        return call(_log_sum_exp, (input.detach(),), dims, keepdim)
    values = input.detach()
    largest = amax(values.real if input._ms_dtype.is_complex else values, dims, True)
    limits = finfo(largest._ms_dtype)
    largest = largest.clamp(limits.min, limits.max)
    total = sum_of((input - largest).exp(), dims, keepdim).log()
    return total + (largest if keepdim else views.reshape(largest, total._ms_shape))


def _is_of_one_kernel(input: TensorBase) -> bool:
    """Return whether NumPy computes it in one kernel: not for half precision, whose steps are rounded one by one, nor with tangents."""
    return in_arrays(input) and not LEVELS and input._ms_dtype.itemsize > 2 and not input._ms_dtype.is_complex


def _shares(gradients: Any, outputs: Any, inputs: list[TensorBase], dims: tuple[int, ...], keepdim: bool) -> tuple[TensorBase, ...]:
    """Return the gradient of ``logsumexp``: the output's gradient times the softmax."""
    (g,), (found,), (x,) = gradients, outputs, inputs
    if not keepdim:
        shape = tuple(1 if d in dims else length for d, length in enumerate(x._ms_shape))
        g, found = views.reshape(g, shape), views.reshape(found, shape)
    return (g * (x - found).exp().conj_physical(),)
