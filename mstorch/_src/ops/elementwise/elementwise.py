"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.arrays import Array, Number
from ...backend.errors import not_for
from ...backend.table import Kernel, kernel
from ...core.dtype import bfloat16, complex128, dtype, float16, float64
from ...core.tensor_base import TensorBase, array_of, is_tracked, recording, tensor_of
from ...tape.apply import apply
from ...tape.composite import record, refuse
from ...tape.saved_values import watch
from ...tape.ways import followed, fused, in_arrays
from ...tape.windows import linear
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import (
    FOUND,
    binary,
    call,
    cast_tensor,
    deliver,
    elementwise,
    elementwise_in,
    expect_a_tensor,
    expect_out_dtype,
    expect_tensor,
    finish,
    python_number,
    readable,
    refuse_dtype,
    refuse_operands,
    result_dtype,
    type_word,
    unary,
)
from .._forms import ALPHA, SELF, Forms
from .._in_place import in_place
from .._memory_order import kept_order, result_strides, row_major
from .._named import by_value, node_called
from .._numbers import fitting, refuse_tracked
from .._operation import operation
from .._scalars import check_size, scalar_array
from ..memory.copying import to_dtype
from ..memory.creation import scalar_tensor, zeros
from ._where import chosen

_add, _sub, _mul, _div = kernel("add"), kernel("sub"), kernel("mul"), kernel("div")
_add_scaled = kernel("add_scaled")
_pow, _integer_power, _scalar_power = kernel("pow"), kernel("integer_power"), kernel("scalar_power")
_and = kernel("bitwise_and")
_floor_divide, _trunc_divide, _integer_divide = kernel("floor_divide"), kernel("trunc_divide"), kernel("integer_divide")
_remainder, _fmod = kernel("remainder"), kernel("fmod")
_eq, _lt = kernel("eq"), kernel("lt")
_neg, _abs, _sign, _sgn = kernel("neg"), kernel("abs"), kernel("sign"), kernel("sgn")
_square, _sqrt, _rsqrt, _reciprocal = kernel("square"), kernel("sqrt"), kernel("rsqrt"), kernel("reciprocal")


def with_args(kernel: Kernel, input: TensorBase, *args: Any, kind: dtype | None = None, out: TensorBase | None = None) -> TensorBase:
    """Run an elementwise kernel on one tensor and Python arguments."""
    strides, source = result_strides((input,), input._ms_shape, kind=kind), input
    if kind is not None and kind is not input._ms_dtype:
        input = cast_tensor(input, kind)
    return finish(call(kernel, (input,), *args, strides=strides), out, source)


def kind_of(value: TensorBase | complex) -> dtype:
    """Return the dtype of a tensor; for a number the dtype to which it promotes."""
    return value._ms_dtype if isinstance(value, TensorBase) else result_dtype((value,))


def _scaled(other: TensorBase | Number, alpha: complex, first: TensorBase | Number) -> Any:
    """Return ``alpha * other`` in the dtype in which torch computes the sum, after checking alpha."""
    kind = result_dtype((first, other))
    category = kind_of(alpha).category
    if category == 0 and kind.category != 0:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if category > 1 and kind.is_integral:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if kind.category == 0:
        alpha = bool(alpha)
        if not isinstance(other, TensorBase):
            return bool(other) and alpha
    if category == 3 and not kind.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if isinstance(alpha, (int, float, complex)):
        fitting(alpha, kind)
    if isinstance(other, TensorBase) and other._ms_dtype is not kind:
        other = other.to(kind)
    if isinstance(other, TensorBase):
        return unkept(other, alpha, "MulBackward0")
    return mul(other, alpha) if isinstance(alpha, TensorBase) else other * alpha


def _is_odd(alpha: Any, input: Any, other: Any) -> bool:
    """Return whether an alpha that equals 1 must still be checked: it is not a float, or the operands are integers."""
    return alpha.__class__ is not float or result_dtype((input, other)).is_integral


def adds_in_one_kernel(input: Any, other: Any, alpha: Any, op: str = "add_scaled") -> bool:
    """Return whether a device computes ``input + alpha * other`` by a single kernel, by default ``add_scaled``."""
    if alpha.__class__ not in (int, float) or not (isinstance(input, TensorBase) and isinstance(other, TensorBase)):
        return False
    kind = input._ms_dtype
    return kind.is_floating_point and other._ms_dtype is kind and fused(op, kind, input, other)


def _added_scaled(input: Any, other: TensorBase | Number, alpha: Any, label: str, out: Any) -> Any:
    """Return ``input + alpha * other`` by a device's single kernel. Raise RuntimeError for an alpha that overflows the dtype."""
    fitting(alpha, input._ms_dtype)
    return finish(elementwise_in(input._ms_dtype, _add_scaled, (input, other), (float(alpha),), label=label), out)


_HALVES = frozenset((float16, bfloat16))


def all_halves(*tensors: Any) -> bool:
    """Return whether all are tensors of the same half-precision dtype."""
    kind = tensors[0]._ms_dtype if isinstance(tensors[0], TensorBase) else None
    return kind in _HALVES and all(isinstance(t, TensorBase) and t._ms_dtype is kind for t in tensors)


def _rounded(value: Any, kind: dtype) -> float:
    return float(scalar_array(fitting(value, kind), kind)) if isinstance(value, (int, float)) else value


@operation(forms=ALPHA)
def add(input: Any, other: Any, *, alpha: Number = 1, out: TensorBase | None = None) -> Any:
    """Return ``input + alpha * other``, elementwise."""
    if alpha.__class__ is not int:
        refuse_tracked(alpha)
    if alpha != 1 or alpha.__class__ is not int and _is_odd(alpha, input, other):
        if all_halves(input, other) and alpha.__class__ is not bool:  # half precision rounds alpha, and once more after the sum
            return finish(add(input.float(), other.float(), alpha=_rounded(alpha, input._ms_dtype)).to(input._ms_dtype), out)
        if adds_in_one_kernel(input, other, alpha):
            return _added_scaled(input, other, alpha, "AddBackward0", out)
        other = _scaled(other, alpha, input)
    return binary(_add, input, other, out)


def check_subtraction(input: TensorBase | float, other: TensorBase | float) -> None:
    """Raise torch's error for a difference with booleans."""
    first, second = kind_of(input), kind_of(other)
    if first.category == 0 and second.category == 0:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if first.category == 0 or second.category == 0:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the "
            "`~` or `logical_not()` operator instead."
        )


@operation(forms=ALPHA)
def sub(input: Any, other: Any, *, alpha: Number = 1, out: TensorBase | None = None) -> Any:
    """Return ``input - alpha * other``, elementwise."""
    if alpha.__class__ is not int:
        refuse_tracked(alpha)
    check_subtraction(input, other)
    if alpha != 1 or alpha.__class__ is not int and _is_odd(alpha, input, other):
        if all_halves(input, other) and alpha.__class__ is not bool:
            return finish(sub(input.float(), other.float(), alpha=_rounded(alpha, input._ms_dtype)).to(input._ms_dtype), out)
        if adds_in_one_kernel(input, other, alpha):
            return _added_scaled(input, other, -alpha, "SubBackward0", out)
        other = _scaled(other, alpha, input)
    return binary(_sub, input, other, out)


@operation(forms=Forms(old=(("input", "other", "alpha"),)))
def subtract(input: TensorBase, other: TensorBase | int, *, alpha: complex = 1, out: TensorBase | None = None) -> TensorBase:
    """Return ``sub`` of the arguments; an alias."""
    return sub(input, other, alpha=alpha, out=out)


@operation(forms=Forms(old=(("input", "other", "alpha"),)))
@node_called(by_value("RsubBackward", 1, "other", number=1))
def rsub(input: TensorBase, other: TensorBase | Number, *, alpha: complex = 1) -> TensorBase:
    """Return ``other - alpha * input``, elementwise."""
    expect_tensor("rsub", input)
    return sub(other, input, alpha=alpha)


def mul(input: Any, other: Any, *, out: TensorBase | None = None) -> Any:
    """Return ``input * other``, elementwise."""
    return binary(_mul, input, other, out)


def div(input: TensorBase, other: TensorBase | float, *, rounding_mode: str | None = None, out: TensorBase | None = None) -> TensorBase:
    """Return ``input / other``, elementwise; rounded toward zero ("trunc") or down ("floor") on request."""
    if rounding_mode is None:
        return binary(_div, input, other, out, to_float=True)
    if rounding_mode in ("floor", "trunc"):
        found = _rounded_division(_floor_divide if rounding_mode == "floor" else _trunc_divide, rounding_mode, input, other, out)
        return watch(found, other, input if isinstance(other, TensorBase) and is_tracked(other) else None)
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '" + str(rounding_mode) + "'"
    )


def _number_times(number: complex, tensor: TensorBase) -> TensorBase:
    """Return ``number * tensor``, computed as torch does: the tensor first."""
    return mul(tensor, number)


def _number_less(number: float, tensor: TensorBase) -> TensorBase:
    """Return ``number - tensor``, with torch's node name."""
    return rsub(tensor, number)


def _number_over(number: float, tensor: TensorBase) -> TensorBase:
    """Return ``number / tensor``, computed as torch does: the number times the reciprocal."""
    return mul(reciprocal(tensor), number)


def _no_slopes(gradients: Any, outputs: Any, inputs: Any) -> list[TensorBase]:
    return [zeros(item._ms_shape, dtype=item._ms_dtype, device=gradients[0].device) for item in inputs]


@node_called("DivBackward2")
def _rounded_division(floating: Kernel, how: str, input: TensorBase, other: TensorBase | float, out: TensorBase | None) -> TensorBase:
    kind = result_dtype((input, other))
    one = not isinstance(other, TensorBase) or not other._ms_shape
    if kind.itemsize == 2 and kind.is_floating_point and how == "trunc" and not one:
        # As in torch, the quotient of two tensors is rounded to 16 bits before it is truncated.
        # Its gradient is 0; that of the quotient would be NaN where a divisor is 0.
        values = [item.detach() if isinstance(item, TensorBase) else item for item in (input, other)]
        found = elementwise(floating, (elementwise(_div, values), 1))
        tensors = [item for item in (input, other) if isinstance(item, TensorBase)]
        if followed(tensors):
            found = record("DivBackward2", _no_slopes, tensors, (found,), needed=(), kept=())[0]
        return finish(found, out, input, other)
    if not kind.is_integral:
        return elementwise(floating, (input, other), out)
    return _integer(how, input, other, kind, out)


def _integer(how: str, input: TensorBase, other: TensorBase | Number, kind: dtype, out: TensorBase | None) -> TensorBase:
    refuse_dtype(f"div_{how}_cpu" if how in ("floor", "trunc") else f"{how}_cpu", kind, operands=(input, other))
    if isinstance(other, TensorBase):
        divisors = readable(other)
        zero = divisors is not None and divisors.size and not divisors.all()
    else:
        zero = not scalar_array(python_number(other), kind)
    if zero and (not isinstance(input, TensorBase) or 0 not in input._ms_shape):
        raise RuntimeError("ZeroDivisionError")
    result = elementwise_in(kind, _integer_divide, (input, other), (how,))
    return result if out is None else deliver(result, out)


def floor_divide(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input // other``, elementwise, rounded down. As in torch it has no gradient: backward raises RuntimeError."""
    found = div(input, other, rounding_mode="floor", out=out)
    error = RuntimeError("derivative for aten::floor_divide is not implemented")
    operands = [item for item in (input, other) if isinstance(item, TensorBase)]
    if out is None and operands and not found._ms_dtype.is_integral:
        refuse("NotImplemented", "floor_divide", operands[0], found, error, operands[-1])
    return found


@operation(forms=SELF)
@node_called(by_value("RemainderBackward", 1, "other"))
def remainder(input: TensorBase, other: TensorBase | Number, *, out: TensorBase | None = None) -> TensorBase:
    """Return the remainder with the sign of the divisor, like Python's ``%``."""
    expect_a_tensor("remainder", input, other)
    kind = result_dtype((input, other))
    if not kind.is_integral:
        if out is None and not isinstance(input, TensorBase) and is_tracked(other):
            error = RuntimeError("derivative for aten::remainder is not implemented")
            return refuse("NotImplemented", "remainder", other, elementwise(_remainder, (input, other.detach()), None), error)
        return elementwise(_remainder, (input, other), out)
    return _integer("remainder", input, other, kind, out)


@node_called(by_value("FmodBackward", 1, "other"))
def fmod(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return the remainder with the sign of the dividend, like C's ``fmod``."""
    expect_tensor("fmod", input)
    kind = result_dtype((input, other))
    if not kind.is_integral:
        return elementwise(_fmod, (input, other), out)
    return _integer("fmod", input, other, kind, out)


_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


_NO_TRUTH = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


@operation(forms=SELF, autocast=FLOAT32_ON_DEVICES)
def pow(input: TensorBase, exponent: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input ** exponent``, elementwise; either may be a number."""
    kind = result_dtype((input, exponent))
    if not isinstance(exponent, TensorBase) and exponent in (0, 1):
        pass  # the result is ones or a copy, which bool supports
    else:
        refuse_dtype("pow", kind, operands=(input, exponent))
    if isinstance(exponent, TensorBase):
        if not kind.is_integral and isinstance(input, TensorBase):
            found = elementwise(_pow, (input, exponent), out)
            if exponent._ms_dtype.category == 0 and is_tracked(input):  # torch's gradient computes ``exponent - 1``
                refuse("PowBackward1", "pow", input, found, RuntimeError(_NO_TRUTH))
            return found
        if not kind.is_integral:
            return _number_to_the(input, exponent, kind, out)
        return _tensor_integer_power(input, exponent, kind, out)
    if not isinstance(input, TensorBase):
        raise TypeError("pow() received an invalid combination of arguments - one of them must be a Tensor")
    exponent = python_number(exponent)
    if exponent.__class__ is int:
        check_size(exponent)
    if not kind.is_integral:
        if kind.itemsize == 2 and exponent not in (0, 1):
            fitting(exponent, kind)
        return with_args(_scalar_power, input, exponent, kind=kind, out=out)
    if exponent < 0:
        raise RuntimeError(_NEGATIVE_POWER)
    if exponent not in (0, 1):
        fitting(exponent, kind)
    refuse_operands(out, (input,))
    found = elementwise_in(kind, _integer_power, (input, exponent), numbers_as_tensors=False)
    return found if out is None else deliver(found, out)


def _number_to_the(base: float, exponent: TensorBase, kind: dtype, out: TensorBase | None) -> TensorBase:
    """Return a number to the power of a tensor, row-major as in torch."""
    exponent = exponent if exponent._ms_dtype is kind else cast_tensor(exponent, kind)
    result = apply(_pow, kind, (scalar_array(python_number(base), kind), exponent), label="PowBackward2")
    return finish(result, out, exponent)


def _tensor_integer_power(input: TensorBase | int, exponent: TensorBase, kind: dtype, out: TensorBase | None) -> TensorBase:
    """Return integers to the power of an integer tensor; a negative power of anything but 1 and -1 is 0."""
    negative = binary(_lt, exponent, 0)
    if not bool(array_of(negative).any()):
        if isinstance(input, TensorBase):
            return elementwise(_integer_power, (input, exponent), out)
        return finish(row_major(elementwise(_integer_power, (input, exponent))), out, exponent)
    base = cast_tensor(input, kind) if isinstance(input, TensorBase) else scalar_tensor(input, dtype=kind)
    # Only the parity of a negative exponent matters; the least integer has no absolute value.
    power = elementwise(_integer_power, (base, either(negative, elementwise(_and, (exponent, 1)), exponent)))
    unit = mul(abs(base), 0) if kind.category == 0 else either(binary(_eq, abs(base), 1), power, mul(power, 0))
    result = either(negative, unit, power)
    return finish(result if isinstance(input, TensorBase) else row_major(result), out)


def either(condition: TensorBase, input: TensorBase, other: TensorBase) -> TensorBase:
    """Return ``input`` where the condition is True, else ``other``, for tensors of one dtype."""
    return chosen(condition, input, other, input._ms_dtype, [condition, input, other])


@operation(forms=SELF)
def float_power(input: TensorBase, exponent: TensorBase | int, *, out: TensorBase | None = None) -> TensorBase:
    """Return the power, computed in float64 (complex128 for complex operands)."""
    kind = complex128 if max(kind_of(input).category, kind_of(exponent).category) == 3 else float64
    if out is not None and out._ms_dtype is not kind:
        raise RuntimeError(
            f"the output given to float_power has dtype {type_word(out._ms_dtype)} but the operation's result requires "
            "dtype "
            f"{type_word(kind)}"
        )
    return pow(_as(input, kind), _as(exponent, kind), out=out)


def float_power_(self: TensorBase, exponent: TensorBase | Number) -> TensorBase:
    """In-place version of ``float_power``; the tensor must be float64 or complex128."""
    kind = complex128 if max(self._ms_dtype.category, kind_of(exponent).category) == 3 else float64
    if self._ms_dtype is not kind:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {type_word(self._ms_dtype)} but the operation's result requires "
            "dtype "
            f"{type_word(kind)}"
        )
    return in_place(self, float_power, exponent)


def _as(value: TensorBase | complex, kind: dtype) -> Any:
    if not isinstance(value, TensorBase):
        return value
    return to_dtype(value, kind)


@operation(keeps_zero=True)
def neg(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the negative of each element."""
    if isinstance(input, TensorBase) and input._ms_dtype.category == 0:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` "
            "or `logical_not()` operator instead."
        )
    if out is not None:
        expect_out_dtype(out, input._ms_dtype, FOUND)
    return unary(_neg, input, out)


@operation(keeps_zero=True)
def positive(input: TensorBase) -> TensorBase:
    """Return the tensor itself. Raise RuntimeError for bool."""
    if input._ms_dtype.category == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@operation(keeps_zero=True)
def abs(input: TensorBase, *, out: TensorBase | None = None) -> Any:
    """Return the absolute value of each element; of a complex number its modulus."""
    if isinstance(input, TensorBase) and input._ms_dtype.category == 0:
        raise not_for("abs_cpu", "bool")
    if out is None and isinstance(input, TensorBase) and input._ms_dtype.is_complex:
        return kept_order(unary(_abs, input), input)
    if out is not None and isinstance(input, TensorBase) and not input._ms_dtype.is_complex:
        expect_out_dtype(out, input._ms_dtype, FOUND)
    return unary(_abs, input, out)


def abs_(input: TensorBase) -> TensorBase:
    """In-place version of ``abs``."""
    if input._ms_dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return in_place(input, abs)


@operation(keeps_zero=True)
def sign(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the sign of each element: -1, 0 or 1."""
    if input._ms_dtype.is_complex:
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    if out is not None:
        expect_out_dtype(out, input._ms_dtype, FOUND)
    return unary(_sign, input, out)


@operation(keeps_zero=True)
def sgn(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the sign of each element; for complex, ``x / |x|``, and 0 at 0."""
    if out is not None:
        expect_out_dtype(out, input._ms_dtype, FOUND)
    found = unary(_sgn, input, out)
    return watch(found, input, found)


@operation(keeps_zero=True)
def square(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the square of each element."""
    if input._ms_dtype.category == 0:
        return pow(input, 2, out=out)
    return unary(_square, input, out)


@operation(keeps_zero=True)
def sqrt(input: TensorBase, *, out: TensorBase | None = None) -> Any:
    """Return the square root of each element; NaN for negative ones."""
    return unary(_sqrt, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def rsqrt(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the reciprocal of the square root of each element."""
    return unary(_rsqrt, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def reciprocal(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the reciprocal of each element."""
    return unary(_reciprocal, input, out, to_float=True)


def unkept(input: TensorBase, number: Number, label: str, operation: Callable[..., Any] = mul) -> TensorBase:
    """Return a tensor times (or divided by) a number, as a linear map, for which backward needs no saved tensor."""
    real = isinstance(number, (int, float)) and input._ms_dtype.is_floating_point
    if not real or not in_arrays(input) or not recording((input,)):
        return operation(input, number)

    def times(array: Array) -> Array:
        return array_of(operation(tensor_of(np.array(array)), number))

    return linear(input, times, times, label)


absolute, absolute_, divide, true_divide, multiply, negative = abs, abs_, div, div, mul, neg

OPERATORS = {
    **{function.__name__: function for function in (add, sub, mul, div, pow)},
    "truediv": div, "floordiv": floor_divide, "mod": remainder,
}  # fmt: skip
REFLECTED = {**OPERATORS, "mul": _number_times, "sub": _number_less, "truediv": _number_over, "div": _number_over}
IN_PLACE_OPERATORS = OPERATORS
PAIRS = {"add": _add, "sub": _sub, "mul": _mul, "truediv": _div}  # functions that operators call for two floating tensors of one shape
UNARY_OPERATORS = {"neg": neg, "pos": positive, "abs": abs}
