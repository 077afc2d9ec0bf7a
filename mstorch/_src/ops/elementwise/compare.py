"""Comparisons, logic, selection, tests for NaN and infinity, clamping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.arrays import Number
from ...backend.table import Kernel, kernel
from ...core.dtype import bool_, dtype, finfo, get_default_dtype, uint8
from ...core.modes import grad_set_to
from ...core.one_device import OneDevice, found_two
from ...core.strides import preserved_strides
from ...core.tensor_base import TensorBase, array_of, laid_out, touch
from ...core.warned import warn_once
from ...core.writable import check_writable
from ...tape.apply import apply
from ...tape.moving import beside
from .._dispatch import (
    binary,
    deliver,
    elementwise_in,
    expect_out_dtype,
    expect_tensor,
    expect_tensors,
    finish,
    python_number,
    refuse_codes,
    refuse_dtype,
    result_dtype,
    type_word,
    unary,
)
from .._forms import SELF, Forms
from .._in_place import in_place_form
from .._memory_order import in_order_of, kept_order, result_strides
from .._named import by_value, node_called
from .._numbers import fitting, refuse_tracked
from .._operation import operation
from .._scalars import scalar_array
from .._true_positions import true_positions
from ..memory.copying import clone, to_dtype
from ._where import chosen
from .complex_views import complex, imag, real
from .elementwise import abs, add, mul, sub

_eq, _ne = kernel("eq"), kernel("ne")
_lt, _le, _gt, _ge = (kernel(op) for op in ("lt", "le", "gt", "ge"))
_and, _or, _xor, _not = (kernel(f"logical_{op}") for op in ("and", "or", "xor", "not"))
_isnan, _isinf, _isfinite, _signbit = (kernel(op) for op in ("isnan", "isinf", "isfinite", "signbit"))
_maximum, _minimum, _fmax, _fmin = (kernel(op) for op in ("maximum", "minimum", "fmax", "fmin"))
_clamp = kernel("clamp")


def _compared(kernel: Kernel, input: TensorBase, other: TensorBase | float, out: TensorBase | None) -> TensorBase:
    """Run a comparison; as in torch, autograd does not track the casts of the operands."""
    if out is None and isinstance(other, TensorBase) and input._ms_dtype is not other._ms_dtype:
        with grad_set_to(False):
            return binary(kernel, input, other)
    return binary(kernel, input, other, out)


@operation(written="EqBackward")
def eq(input: Any, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input == other``, elementwise."""
    expect_tensor("eq", input)
    return _compared(_eq, input, other, out)


@operation(written="NeBackward")
def ne(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input != other``, elementwise."""
    expect_tensor("ne", input)
    return _compared(_ne, input, other, out)


@operation(written="LtBackward")
def lt(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input < other``, elementwise."""
    expect_tensor("lt", input)
    return _compared(_lt, input, other, out)


@operation(written="LeBackward")
def le(input: TensorBase, other: TensorBase | int, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input <= other``, elementwise."""
    expect_tensor("le", input)
    return _compared(_le, input, other, out)


@operation(written="GtBackward")
def gt(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input > other``, elementwise."""
    expect_tensor("gt", input)
    return _compared(_gt, input, other, out)


@operation(written="GeBackward")
def ge(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input >= other``, elementwise."""
    expect_tensor("ge", input)
    return _compared(_ge, input, other, out)


less, less_equal, greater, greater_equal, not_equal = lt, le, gt, ge, ne


@operation(one_device=OneDevice(words=found_two, numbers=("other",)))
def logical_and(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether both are nonzero, elementwise."""
    expect_tensors("logical_and", input, other)
    return binary(_and, input, other, out)


@operation(one_device=OneDevice(words=found_two, numbers=("other",)))
def logical_or(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether either is nonzero, elementwise."""
    expect_tensors("logical_or", input, other)
    return binary(_or, input, other, out)


@operation(one_device=OneDevice(words=found_two, numbers=("other",)))
def logical_xor(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether exactly one is nonzero, elementwise."""
    expect_tensors("logical_xor", input, other)
    return binary(_xor, input, other, out)


def logical_not(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether the element is zero."""
    return unary(_not, input, out)


def _constant(input: TensorBase, value: bool, kept: bool = True) -> TensorBase:
    """Return a constant bool tensor, with the strides of a copy of ``input`` or, unless ``kept``, of an elementwise result."""
    shape = input._ms_shape
    strides = None if input._ms_stride is None else preserved_strides(shape, input._ms_stride) if kept else result_strides((input,), shape)
    return beside(laid_out(np.full(input._ms_shape, value, bool), strides), input)


@operation(keeps_zero=True)
def isnan(input: TensorBase) -> TensorBase:
    """Return whether each element is NaN (for complex, in either part)."""
    return unary(_isnan, input) if not input._ms_dtype.is_integral else _constant(input, False, False)


@operation(keeps_zero=True)
def isinf(input: TensorBase) -> TensorBase:
    """Return whether the element is infinite."""
    if input._ms_dtype.is_integral:
        return _constant(input, False)
    found = unary(_isinf, input)
    return in_order_of(found, found, with_numbers=True) if found._ms_stride is not None or 0 in found._ms_shape else found


def isfinite(input: TensorBase) -> TensorBase:
    """Return whether the element is neither infinite nor NaN."""
    if input._ms_dtype.is_integral:
        return _constant(input, True)
    found = unary(_isfinite, input)
    return found if found._ms_stride is None else in_order_of(found, found)


def _expect_truth(name: str, out: TensorBase | None) -> None:
    if isinstance(out, TensorBase) and out._ms_dtype is not bool_:
        raise RuntimeError(f"{name} does not support non-boolean outputs.")


def _signed_infinity(name: str, input: TensorBase, value: float, out: TensorBase | None) -> TensorBase:
    if input._ms_dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex inputs.")
    _expect_truth(name, out)
    refuse_codes(f"{name}_cpu", input)
    if input._ms_dtype.is_floating_point:
        result = elementwise_in(input._ms_dtype, _eq, (input, value), numbers_as_tensors=False)
    else:
        result = _constant(input, False, False)
    return finish(result, out, input)


@operation(keeps_zero=True)
def isposinf(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether the element is positive infinity."""
    return _signed_infinity("isposinf", input, math.inf, out)


@operation(keeps_zero=True)
def isneginf(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether the element is negative infinity."""
    return _signed_infinity("isneginf", input, -math.inf, out)


@operation(keeps_zero=True)
def signbit(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return whether the sign bit of the element is set."""
    if input._ms_dtype.is_complex:
        raise RuntimeError("signbit is not implemented for complex tensors.")
    _expect_truth("signbit", out)
    if input._ms_dtype.category == 0:
        return finish(_constant(input, False, False), out, input)
    return unary(_signbit, input, out)


def isreal(input: TensorBase) -> TensorBase:
    """Return whether the imaginary part is zero."""
    if not input._ms_dtype.is_complex:
        return _constant(input, True)
    return eq(imag(input), 0)


def is_nonzero(input: TensorBase) -> bool:
    """Return whether the only element is nonzero."""
    count = math.prod(input._ms_shape)
    if count == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if count > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(array_of(input).reshape(-1)[0])


@operation(one_device=OneDevice("_equal"))
def equal(input: TensorBase, other: TensorBase) -> bool:
    """Return whether both have the same size and the same elements."""
    if input._ms_shape != other._ms_shape:
        return False
    if input._ms_dtype is not other._ms_dtype:
        return bool(array_of(eq(input, other)).all())
    if input._ms_dtype.ms is None and 0 not in input._ms_shape:
        if input._ms_storage is other._ms_storage and input._ms_offset == other._ms_offset and input._ms_stride == other._ms_stride:
            refuse_codes("equal_notnan_cpu", input)  # the same memory: torch checks for NaN
        return bool(array_of(eq(input, other)).all())
    return bool((array_of(input) == array_of(other)).all())


def isclose(input: TensorBase, other: TensorBase, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> TensorBase:
    """Return whether ``|input - other| <= atol + rtol * |other|``, elementwise."""
    if input._ms_dtype is not other._ms_dtype:
        raise RuntimeError(f"{type_word(input._ms_dtype)} did not match {type_word(other._ms_dtype)}")
    for place, (name, value) in enumerate((("rtol", rtol), ("atol", atol)), 3):
        if isinstance(value, TensorBase) and (value._ms_shape or value.requires_grad):
            raise TypeError(f"isclose(): argument '{name}' (position {place}) must be float, not Tensor")
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol:g}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol:g}")
    input, other = given = input.detach(), other.detach()
    close = eq(input, other)
    if equal_nan and not input._ms_dtype.is_integral:
        close = logical_or(close, logical_and(isnan(input), isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if input._ms_dtype.is_integral:  # differences of integers would wrap around
        other = to_dtype(other, get_default_dtype())
        if input._ms_dtype is bool_:
            input = to_dtype(input, get_default_dtype())
    allowed = add(mul(abs(other), rtol), atol)
    error = abs(sub(input, other))
    found = in_order_of(logical_or(close, logical_and(isfinite(error), le(error, allowed))), *given)
    found._ms_counter.version = 1  # as in torch, which writes the second condition in place
    return found


def allclose(input: TensorBase, other: TensorBase, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close (see ``isclose``)."""
    return bool(array_of(isclose(input, other, rtol, atol, equal_nan)).all())


def _no_complex(name: str, *operands: Any) -> None:
    for operand in operands:
        if isinstance(operand, TensorBase) and operand._ms_dtype.is_complex:
            raise RuntimeError(f"{name} not implemented for complex tensors.")


def maximum(input: TensorBase, other: Any, *, out: TensorBase | None = None) -> TensorBase:
    """Return the larger of the two, elementwise; NaN if either is."""
    expect_tensors("maximum", input, other)
    _no_complex("maximum", input, other)
    return binary(_maximum, input, other, out)


def minimum(input: TensorBase, other: Any, *, out: TensorBase | None = None) -> TensorBase:
    """Return the smaller of the two, elementwise; NaN if either is."""
    expect_tensors("minimum", input, other)
    _no_complex("minimum", input, other)
    return binary(_minimum, input, other, out)


def fmax(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the larger of the two, elementwise; NaN only if both are NaN."""
    expect_tensors("fmax", input, other)
    if kind_is_integral(input, other):
        return binary(_maximum, input, other, out)
    return binary(_fmax, input, other, out)


def fmin(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the smaller of the two, elementwise; NaN only if both are NaN."""
    expect_tensors("fmin", input, other)
    if kind_is_integral(input, other):
        return binary(_minimum, input, other, out)
    return binary(_fmin, input, other, out)


def kind_is_integral(*operands: Any) -> bool:
    """Return whether the operands promote to an integer dtype or bool."""
    return result_dtype(operands).is_integral


_PLAIN = (int, float)
_SURE = 60000  # numbers below this fit every floating dtype


@operation(one_device=OneDevice("clamp_Tensor"))
def clamp(input: TensorBase, min: TensorBase | Number | None = None, max: Any = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return each element clamped to [``min``, ``max``] (numbers or tensors)."""
    kind = input._ms_dtype
    if out is None and kind.is_floating_point and input._ms_stride is None and min.__class__ in _PLAIN and max.__class__ in _PLAIN:
        if -_SURE < min < _SURE and -_SURE < max < _SURE:  # the common case
            return apply(_clamp, kind, (input, scalar_array(min, kind), scalar_array(max, kind)), label="ClampBackward1")
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if input._ms_dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if isinstance(min, TensorBase) != isinstance(max, TensorBase) and min is not None and max is not None:
        raise TypeError(
            f"clamp() received an invalid combination of arguments - got (Tensor, min={_name(min)}, "
            f"max={_name(max)}), but "
            "expected one of:\n * (Tensor input, Tensor min = None, Tensor max = None, *, Tensor out = None)\n"
            " * (Tensor input, Number min = None, Number max = None, *, Tensor out = None)"
        )
    operands = [input] + [bound for bound in (min, max) if bound is not None]
    kind = result_dtype(operands)
    _check_range(kind, min, max)
    if not kind.category:
        _refuse_truth(min, max)
    if isinstance(out, TensorBase) and out._ms_dtype is not kind and not isinstance(min, TensorBase) and not isinstance(max, TensorBase):
        raise RuntimeError(f"Found dtype {type_word(out._ms_dtype)} but expected {type_word(kind)}")
    label = "ClampBackward0" if isinstance(min, TensorBase) or isinstance(max, TensorBase) else "ClampBackward1"
    return finish(elementwise_in(kind, _clamp, (input, min, max), numbers_as_tensors=False, label=label), out, *operands)


def _refuse_truth(low: Any, high: TensorBase | bool | None) -> None:
    """Raise torch's error for boolean bounds: if there are two, or if the only one is a number. A single bound that is a tensor is
    accepted."""
    scalar = not isinstance(low, TensorBase) and not isinstance(high, TensorBase)
    if scalar or low is not None and high is not None:
        end = "" if low is not None and high is not None else "_max" if low is None else "_min"
        refuse_dtype(f"clamp{end}{'_scalar' if scalar else ''}_cpu", bool_)


def _check_range(kind: dtype, *bounds: Any) -> None:
    for bound in bounds:
        if bound is not None and not isinstance(bound, TensorBase):
            fitting(python_number(bound), kind)


def _name(value: TensorBase | Number) -> str:
    return type(value).__name__


@operation(one_device=OneDevice("clamp_min_Tensor"))
@node_called(by_value("ClampMinBackward", 1, "min"))
def clamp_min(input: TensorBase, min: TensorBase | Number, *, out: TensorBase | None = None) -> TensorBase:
    """Return each element clamped to at least ``min``."""
    return clamp(input, min, None, out=out)


@operation(one_device=OneDevice("clamp_max_Tensor"))
@node_called(by_value("ClampMaxBackward", 1, "max"))
def clamp_max(input: TensorBase, max: TensorBase | Number, *, out: TensorBase | None = None) -> TensorBase:
    """Return each element clamped to at most ``max``."""
    return clamp(input, None, max, out=out)


clip = clamp


@operation(forms=SELF)
def where(
    condition: TensorBase, input: TensorBase | float | None = None, other: TensorBase | float | None = None, *,
    out: TensorBase | None = None
) -> Any:
    """Return ``input`` where the condition is True, else ``other``; for a condition alone, the indices of its nonzero elements."""
    if input is None and other is None:
        return tuple(beside(positions, condition) for positions in true_positions(condition))
    if not isinstance(condition, TensorBase) or input is None or other is None:
        words = ", ".join(type(value).__name__ for value in (condition, input, other))
        raise TypeError(f"where() received an invalid combination of arguments - got ({words}), but expected one of:")
    if condition._ms_dtype is not bool_:
        if condition._ms_dtype is not uint8:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{type_word(condition._ms_dtype)}"
            )
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
            "PyTorch. Use a boolean condition instead."
        )
        condition = ne(condition, 0)
    kind = result_dtype((input, other))
    if out is not None:
        expect_out_dtype(out, kind, "Expected out type to be {kind} but got {out}")
    tensors = [item for item in (condition, input, other) if isinstance(item, TensorBase)]
    return finish(chosen(condition, input, other, kind, tensors), out, *tensors)


def where_method(self: TensorBase, condition: TensorBase | int | tuple[Any, ...], other: TensorBase | float) -> TensorBase:
    """Return the tensor where the condition is True, else ``other``."""
    return where(condition, self, other)


@operation(keeps_zero=True)
@node_called("NanToNumBackward0", "input")
def nan_to_num(
    input: TensorBase, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *, out: TensorBase | None = None
) -> TensorBase:
    """Return NaN replaced by ``nan`` (0), infinities by ``posinf`` and ``neginf`` (the dtype's limits)."""
    refuse_tracked(nan, posinf, neginf)
    kind = input._ms_dtype
    if out is not None:
        expect_out_dtype(out, kind, "nan_to_num: dtype of out: {out} should be same as input: {kind}")
    if kind.is_integral:
        return finish(clone(input), out, input)
    refuse_codes("nan_to_num", input)
    if kind.is_complex:
        result = kept_order(complex(nan_to_num(real(input), nan, posinf, neginf), nan_to_num(imag(input), nan, posinf, neginf)), input)
        return result if out is None else deliver(result, out)
    limits = finfo(kind)
    fillers = (0.0 if nan is None else nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
    # Numbers beyond the dtype's range are infinite, as in torch.
    first, high, low = (v if v != v or limits.min <= v <= limits.max else math.copysign(math.inf, v) for v in fillers)
    result = where(isnan(input), first, input)
    result = where(eq(input, math.inf), high, result)
    result = where(eq(input, -math.inf), low, result)
    return finish(kept_order(result, input), out, input)


def is_complex(input: TensorBase) -> bool:
    """Return whether the dtype is complex."""
    return input._ms_dtype.is_complex


def is_floating_point(input: TensorBase) -> bool:
    """Return whether the dtype is floating."""
    return input._ms_dtype.is_floating_point


def is_signed(input: TensorBase) -> bool:
    """Return whether the dtype is signed."""
    return input._ms_dtype.is_signed


def is_same_size(input: TensorBase, other: TensorBase) -> bool:
    """Return whether both have the same shape."""
    if getattr(other, "_ms_nested", False):
        raise RuntimeError("Expected both self and other to be nested tensors. Self is not nested. While Other is nested.")
    return input._ms_shape == other._ms_shape


@operation(forms=Forms({
    "tensor": ("tensor1", "tensor2"), "other": "tensor2", "scalar": "tensor1", "scalar1": "tensor1", "scalar2": "tensor2",
}))  # fmt: skip
def result_type(tensor1: TensorBase, tensor2: TensorBase | Number) -> dtype:
    """Return the promoted dtype of two tensors or numbers."""
    return result_dtype((tensor1, tensor2))


_without_nan = in_place_form(nan_to_num, "nan_to_num_")


def nan_to_num_(
    input: TensorBase, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> TensorBase:
    """In-place version of ``nan_to_num``."""
    if input._ms_dtype.is_integral:  # nothing changes, so that torch does not check for overlapping elements
        check_writable(input, uniform=True)
        touch(input)
        return input
    return _without_nan(input, nan, posinf, neginf)

NAMED_METHODS = {"where": where_method}
# Bool results have no gradient, so that torch allows writing them to tensors that autograd tracks.
logical_and_, logical_or_, logical_xor_, logical_not_ = (
    in_place_form(function, f"{function.__name__}_", recorded=False) for function in (logical_and, logical_or, logical_xor, logical_not)
)
OPERATORS = {function.__name__: function for function in (eq, ne, lt, le, gt, ge)}
