"""Activation functions."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.errors import not_for, wrong_type
from ...backend.table import Kernel, kernel
from ...core.dtype import finfo, float32
from ...core.modes import modes
from ...core.one_device import OneDevice
from ...core.strides import preserved_strides
from ...core.tensor_base import TensorBase, is_tracked
from ...core.writable import refuse_partial_overlap
from ...tape.apply import apply_one
from ...tape.primitives import Primitive
from ...tape.whole import by_kernel
from .._autocast import FLOAT32_ON_DEVICES, LOWER
from .._dispatch import FOUND, call, finish, finish_exactly, type_word, unary, wrap_dim
from .._in_place import in_place, in_place_form
from .._memory_order import in_order_of, result_strides
from .._named import node_called
from .._numbers import fitting, refuse_tracked
from .._operation import operation
from ..memory.copying import to_dtype
from ..shape import views
from .compare import where
from .elementwise import abs as magnitude
from .elementwise import add, div, sub
from .math import tanh

_relu = kernel("relu")
_hardtanh = kernel("hardtanh")
_leaky_relu = kernel("leaky_relu")
_prelu = kernel("prelu")
_elu = kernel("elu")
_gelu = kernel("gelu")
_gelu_tanh = kernel("gelu_tanh")
_silu = kernel("silu")
_mish = kernel("mish")
_softplus = kernel("softplus")
_logsigmoid = kernel("logsigmoid")
_hardsigmoid = kernel("hardsigmoid")
_hardswish = kernel("hardswish")
_softshrink = kernel("softshrink")
_hardshrink = kernel("hardshrink")
_threshold = kernel("threshold")
_tanhshrink = kernel("tanhshrink")
_softsign = kernel("softsign")
_sigmoid = kernel("sigmoid")
_mul = kernel("mul")


def _apply(kernel_: Kernel, name: str, input: TensorBase, *args: Any, inplace: bool = False) -> TensorBase:
    if not isinstance(input, TensorBase):
        raise wrong_type(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if inplace:
        return in_place(input, lambda tensor: _apply(kernel_, name, tensor, *args))
    if not args and input._ms_stride is None:
        return apply_one(kernel_, input._ms_dtype, input)
    refuse_tracked(*args)
    return call(kernel_, (input,), *args, strides=result_strides((input,), input._ms_shape))


def _stored(result: TensorBase, out: TensorBase, input: TensorBase) -> TensorBase:
    """Store the result in ``out`` if given, and return it. Raise torch's error if ``out`` has another dtype or partly overlaps the input.
    """
    if isinstance(out, TensorBase):
        refuse_partial_overlap(out, input)
    return finish_exactly(result, out, FOUND)


def _floating(name: str, input: TensorBase) -> None:
    if isinstance(input, TensorBase) and input._ms_dtype.is_integral:
        raise not_for(name, input._ms_dtype.name)


def _check_wide(input: TensorBase | None, *numbers: float) -> None:
    """Raise torch's error for a number that overflows the dtype in which torch computes: float32 for half-precision input, else the
    input's."""
    if isinstance(input, TensorBase):
        for number in numbers:
            fitting(number, float32 if input._ms_dtype.itemsize == 2 else input._ms_dtype)


@operation(arguments_first=True, keeps_zero=True)
def relu(input: TensorBase) -> TensorBase:
    """Return ``max(0, x)`` elementwise."""
    if isinstance(input, TensorBase) and not input._ms_dtype.category:
        raise RuntimeError("Boolean inputs not supported for relu")
    return unary(_relu, input)


def relu6(input: TensorBase) -> TensorBase:
    """Return ``min(max(0, x), 6)`` elementwise."""
    if isinstance(input, TensorBase) and input._ms_dtype.name == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    return _clamped("relu6", input, 0, 6)


def hardtanh(input: TensorBase, min_val: float = -1.0, max_val: float = 1.0) -> TensorBase:
    """Return ``min(max(min_val, x), max_val)`` elementwise."""
    if isinstance(input, TensorBase) and input._ms_dtype.name == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if isinstance(input, TensorBase) and input._ms_dtype.is_integral:
        min_val, max_val = (int(fitting(bound, input._ms_dtype)) for bound in (min_val, max_val))
        if input._ms_dtype.name == "uint8" and (min_val < 0 or max_val < 0):
            raise RuntimeError(
                "cannot do hardtanh on an unsigned type with negative limits"
            )
    elif isinstance(input, TensorBase):
        fitting(min_val, input._ms_dtype), fitting(max_val, input._ms_dtype)
    return _clamped("hardtanh", input, min_val, max_val)


def _clamped(name: str, input: TensorBase, low: float, high: float) -> TensorBase:
    if not isinstance(input, TensorBase) or input._ms_stride is None:
        return _apply(_hardtanh, name, input, low, high)
    refuse_tracked(low, high)
    # torch writes the result into a tensor that is made like the input.
    return call(_hardtanh, (input,), low, high, strides=preserved_strides(input._ms_shape, input._ms_stride))


@operation(written="LeakyReluBackward1")
def leaky_relu(input: TensorBase, negative_slope: float = 0.01) -> TensorBase:
    """Return ``x`` where it is positive, else ``negative_slope * x``."""
    _floating("leaky_relu_cpu", input)
    _check_wide(input, negative_slope)
    return _apply(_leaky_relu, "leaky_relu", input, negative_slope)


@operation(autocast=LOWER, one_device=OneDevice("__prelu_kernel"))
def prelu(input: TensorBase, weight: TensorBase) -> TensorBase:
    """Return ``x`` where it is positive, else ``weight * x``, with one weight for all or one per channel (dimension 1)."""
    shape, count = input._ms_shape, int(math.prod(weight._ms_shape))
    if len(weight._ms_shape) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight._ms_shape)}")
    if count != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size = "
                f"{channels}."
            )
    if input._ms_dtype is not weight._ms_dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {type_word(input._ms_dtype)} and {type_word(weight._ms_dtype)}")
    lead = (1, count) if len(shape) > 1 else (count,) if shape else ()
    wide = views.reshape(weight, (*lead, *([1] * (len(shape) - 2))))
    return call(_prelu, (input, wide), strides=None if input._ms_stride is None else preserved_strides(shape, input._ms_stride))


@operation(written="EluBackward1")
def elu(input: TensorBase, alpha: float = 1.0, scale: float = 1, input_scale: float = 1) -> TensorBase:
    """Return ``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""
    _floating("elu_cpu", input)
    _check_wide(input, alpha, scale, input_scale)
    return _apply(_elu, "elu", input, alpha, scale, input_scale)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@operation(written="EluBackward1")
def selu(input: TensorBase) -> TensorBase:
    """Return ``scale * elu(x, alpha)`` with the constants of self-normalizing networks (https://arxiv.org/abs/1706.02515)."""
    _floating("elu_cpu", input)
    return _apply(_elu, "selu", input, _SELU_ALPHA, _SELU_SCALE, 1)


@operation(written="CeluBackward1")
def celu(input: TensorBase, alpha: float = 1.0) -> TensorBase:
    """Return ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    refuse_tracked(alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _floating("elu_cpu", input)
    _check_wide(input, alpha)
    return call(_elu, (input,), alpha, 1, 1 / alpha, label="CeluBackward0", strides=result_strides((input,), input._ms_shape))


def gelu(input: TensorBase, *, approximate: str = "none", out: TensorBase | None = None) -> TensorBase:
    """Return ``x`` times the standard normal CDF at ``x``, or its ``"tanh"`` approximation."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    _floating("GeluKernelImpl", input)
    result = _apply(_gelu_tanh if approximate == "tanh" else _gelu, "gelu", input)
    return result if out is None else _stored(result, out, input)


def silu(input: TensorBase) -> TensorBase:
    """Return ``x * sigmoid(x)``."""
    _floating("silu_cpu", input)
    return _apply(_silu, "silu", input)


def mish(input: TensorBase) -> TensorBase:
    """Return ``x * tanh(softplus(x))``."""
    _floating("mish_cpu", input)
    return _apply(_mish, "mish", input)


@operation(autocast=FLOAT32_ON_DEVICES)
def softplus(input: TensorBase, beta: float = 1, threshold: float = 20, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``log(1 + exp(beta * x)) / beta``, or ``x`` where ``beta * x`` is above the threshold."""
    _floating("softplus_cpu", input)
    _check_wide(input, beta, threshold)
    result = _apply(_softplus, "softplus", input, beta, threshold)
    return result if out is None else _stored(result, out, input)


def logsigmoid(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``log(sigmoid(x))``."""
    _floating("log_sigmoid_cpu", input)
    if not isinstance(input, TensorBase):
        raise wrong_type(f"log_sigmoid(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return finish_exactly(call(_logsigmoid, (input,)), out, "expected scalar type {kind} but found {out}")


def hardsigmoid(input: TensorBase) -> TensorBase:
    """Return ``relu6(x + 3) / 6``."""
    _floating("hardsigmoid_cpu", input)
    return _apply(_hardsigmoid, "hardsigmoid", input)


def hardswish(input: TensorBase) -> TensorBase:
    """Return ``x * relu6(x + 3) / 6``."""
    _floating("hardswish_cpu", input)
    return _apply(_hardswish, "hardswish", input)


def softshrink(input: TensorBase, lambd: float = 0.5, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``x`` moved towards 0 by ``lambd``, or 0 where ``|x| <= lambd``."""
    most = finfo(input._ms_dtype).max if input._ms_dtype.is_floating_point else 0
    if not 0 <= lambd <= most and (input._ms_dtype.is_floating_point or lambd < 0):
        raise RuntimeError(
            f"lambda must be in range [0, {most:g}] for input dtype {type_word(input._ms_dtype)}, but found {lambd:g}"
        )
    _floating("softshrink_cpu", input)
    result = _apply(_softshrink, "softshrink", input, lambd)
    return result if out is None else _stored(result, out, input)


def hardshrink(input: TensorBase, lambd: float = 0.5, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``x``, or 0 where ``|x| <= lambd``."""
    _floating("hardshrink_cpu", input)
    if isinstance(input, TensorBase) and input._ms_dtype.itemsize == 2:
        fitting(lambd, input._ms_dtype)
        lambd = float(np.asarray(lambd).astype(input._ms_dtype.np))
    result = _apply(_hardshrink, "hardshrink", input, lambd)
    return result if out is None else _stored(result, out, input)


@operation(written="ThresholdBackward1")
def threshold(input: TensorBase, threshold: float, value: float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``x`` where it is above the threshold, else ``value``."""
    if isinstance(input, TensorBase) and input._ms_dtype.is_integral:
        if input._ms_dtype.category == 0:
            raise not_for("threshold_cpu", "bool")
        bound, other = (int(fitting(number, input._ms_dtype)) for number in (threshold, value))
        return finish(in_order_of(where(input > bound, input, other), input), out)
    if isinstance(input, TensorBase):
        value = fitting(value, input._ms_dtype)
        threshold = fitting(threshold, float32 if input._ms_dtype.itemsize == 2 else input._ms_dtype)
    return finish(_apply(_threshold, "threshold", input, threshold, value), out)


def tanhshrink(input: TensorBase) -> TensorBase:
    """Return ``x - tanh(x)``."""
    kind = input._ms_dtype if isinstance(input, TensorBase) else float32
    if not kind.is_floating_point or kind.itemsize == 2 or (modes.grad and isinstance(input, TensorBase) and is_tracked(input)):
        return sub(input, tanh(input))  # backward saves tanh(x), so that x may be modified in place
    return _apply(_tanhshrink, "tanhshrink", input)


def softsign(input: TensorBase) -> TensorBase:
    """Return ``x / (1 + |x|)``."""
    if isinstance(input, TensorBase) and (not input._ms_dtype.is_floating_point or input._ms_dtype.itemsize == 2):  # each step is rounded
        return div(input, add(magnitude(input), 1))
    return _apply(_softsign, "softsign", input)


@node_called("GluBackward0")
def glu(input: TensorBase, dim: int = -1) -> TensorBase:
    """Return the first half along ``dim`` times the sigmoid of the second."""
    shape = input._ms_shape
    if not shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    _floating("glu_cpu", input)
    if input._ms_dtype.is_complex:
        raise not_for("glu_cpu", input._ms_dtype.name)
    # The kernel's result is row-major; torch's lies in memory as the operand does.
    found = None if 0 in shape or input._ms_stride is not None else by_kernel(
        _glu, lambda wanted, g, x, dim: (_glu_grad(g, x, dim),), (input,), (dim,), "GluBackward0", lambda x: _glu_of_parts(x, dim)
    )
    return _glu_of_parts(input, dim) if found is None else found


_glu, _glu_grad = kernel("glu"), Primitive("glu_grad")


def _glu_of_parts(input: TensorBase, dim: int) -> TensorBase:
    shape = input._ms_shape
    if input._ms_dtype.itemsize == 2:  # rounded once
        return to_dtype(_glu_of_parts(to_dtype(input, float32), dim), input._ms_dtype)
    half = shape[dim] // 2
    first, second = views.narrow(input, dim, 0, half), views.narrow(input, dim, half, half)
    gate = unary(_sigmoid, second)
    return call(_mul, (first, gate), strides=result_strides((first, gate), first._ms_shape))


relu_ = in_place_form(relu, "relu_")
