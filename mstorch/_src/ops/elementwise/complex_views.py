"""Complex numbers and their parts; reinterpretation as another dtype. ``real``, ``imag`` and ``view(dtype)`` are views."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array, Number
from ...backend.float8 import halves_of, of_halves
from ...backend.raw import Raw, from_numpy
from ...backend.table import kernel
from ...core.dtype import dtype, float16
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase, as_it_lies, is_tracked, strides_of
from ...tape import mirrored, movement, windows
from ...tape.saved_values import watch
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import FOUND, deliver, elementwise, expect_out_dtype, type_word, unary
from .._forms import Forms
from .._in_place import in_place, in_place_form
from .._memory_order import kept_order
from .._named import call_node, name_written
from .._operation import operation
from .._overlaps import refuse_partly
from ..memory.copying import clone, copy_
from ..shape.join import broadcast_tensors, stack
from .elementwise import neg

_conj, _complex, _polar, _reinterpret = kernel("conj"), kernel("complex"), kernel("polar"), kernel("view_dtype")
_reshape, _gather = kernel("reshape"), kernel("storage_gather")


def _seen(
    source: TensorBase, kind: dtype, shape: Sequence[int], strides: Sequence[int], offset: int, label: str, forward: Callable[..., Any],
    back: Callable[..., Any], again: Callable[[Any], Any], moves: tuple[Any, Any],
) -> TensorBase:  # fmt: skip
    shape, strides = tuple(shape), tuple(strides)
    forward, back = movement.Move(forward, moves[0]), movement.Move(back, moves[1])

    def read(raw: Raw) -> Raw:
        # The elements of ``source`` in order, viewed in the other dtype: a real or imaginary part is every second number.
        flat = _reshape[kind.name](_reinterpret[kind.name](raw, kind.name), (-1,))
        count = math.prod(shape)
        if int(flat.size) == count:
            return _reshape[kind.name](flat, shape)
        return _reshape[kind.name](_gather[kind.name](flat, from_numpy(np.arange(count) * 2 + offset % 2)), shape)

    return windows.view(source, label, shape, strides, offset, read, forward, back, kind, again)


def view_as_real(input: TensorBase) -> TensorBase:
    """Return a view of a complex tensor as real, with a last dimension of 2."""
    if not input._ms_dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if mirrored.signs_of(input)[0]:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    shape = (*input._ms_shape, 2)
    strides = (*(2 * stride for stride in strides_of(input)), 1)
    return _seen(
        input, input._ms_dtype.to_real(), shape, strides, 2 * input._ms_offset, "ViewAsRealBackward0", _as_real, _as_complex, view_as_real,
        (movement.as_real, movement.as_complex),
    )  # fmt: skip


def _as_real(array: Array) -> Array:
    return halves_of(array) if array.dtype.names else np.stack((array.real, array.imag), -1)


def _as_complex(array: Array) -> Array:
    if array.dtype == np.float16:
        return of_halves(array)
    wanted = np.complex128 if array.dtype == np.float64 else np.complex64
    return np.ascontiguousarray(array).view(wanted).reshape(array.shape[:-1])


def _with_parts(array: Array, unit: Number) -> Array:
    if array.dtype == np.float16:
        halves = np.zeros((*array.shape, 2), np.float16)
        halves[..., 0 if unit == 1 else 1] = array
        return of_halves(halves)
    found = np.zeros(array.shape, np.complex128 if array.dtype == np.float64 else np.complex64)
    if unit == 1:
        found.real = array
    else:
        found.imag = array
    return found


@operation(autocast=FLOAT32_ON_CPU)
def view_as_complex(input: TensorBase) -> TensorBase:
    """Return a view of a real tensor with a last dimension of 2 as complex."""
    if not input._ms_dtype.is_floating_point or input._ms_dtype.itemsize < 4 and input._ms_dtype is not float16:
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{type_word(input._ms_dtype)}"
        )
    shape, strides = input._ms_shape, strides_of(input)
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(stride % 2 for stride in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input._ms_offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return _seen(
        input, input._ms_dtype.to_complex(), shape[:-1], tuple(stride // 2 for stride in strides[:-1]), input._ms_offset // 2,
        "ViewAsComplexBackward0", _as_complex, _as_real, view_as_complex, (movement.as_complex, movement.as_real),
    )  # fmt: skip


def _part(input: TensorBase, number: int, label: str, forward: Callable[..., Any], again: Callable[[Any], Any]) -> TensorBase:
    strides = tuple(2 * stride for stride in strides_of(input))
    return _seen(
        input, input._ms_dtype.to_real(), input._ms_shape, strides, 2 * input._ms_offset + number, label, forward,
        lambda array: _with_parts(array, 1j if number else 1), again, movement.part_of_complex(number),
    )  # fmt: skip


def real(input: TensorBase) -> Any:
    """Return a view of the real part, or ``input`` if it is real."""
    if not input._ms_dtype.is_complex:
        return input
    return _signed_part(input, 0, "SelectBackward0", lambda array: _as_real(array)[..., 0] if array.dtype.names else array.real, real)


def imag(input: TensorBase) -> Any:
    """Return a view of the imaginary part. Raise RuntimeError for a real tensor."""
    if not input._ms_dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _signed_part(input, 1, "SelectBackward0", lambda array: _as_real(array)[..., 1] if array.dtype.names else array.imag, imag)


def _signed_part(input: TensorBase, number: int, label: str, forward: Callable[..., Any], again: Callable[[Any], Any]) -> TensorBase:
    conjugate, negative = mirrored.signs_of(input)
    if not (conjugate or negative):
        return _part(input, number, label, forward, again)
    return mirrored.with_signs(_part(as_it_lies(input), number, label, forward, again), False, negative ^ (conjugate and number == 1))


def conj(input: TensorBase) -> TensorBase:
    """Return the conjugate: a view of the same memory (on a device, in a capture and in forward mode a copy), or ``input`` if it is real.
    """
    if not input._ms_dtype.is_complex:
        return input
    return mirrored.turned(input, conj=True) if mirrored.can_be_lazy(input) else conj_physical(input)


def neg_view(input: TensorBase) -> TensorBase:
    """Return the negative, as a view of the same memory where ``conj`` returns a view."""
    return mirrored.turned(input, neg=True) if mirrored.can_be_lazy(input) else neg(input)


@operation(keeps_zero=True)
def conj_physical(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the conjugate in new memory."""
    if out is not None:
        expect_out_dtype(out, input._ms_dtype, FOUND)
        refuse_partly(out, input)
    if not input._ms_dtype.is_complex:
        return input if out is None else deliver(input, out)
    return unary(_conj, input, out) if out is not None else call_node(kept_order(unary(_conj, input), input), "ConjPhysicalBackward0")


_as_it_is = in_place_form(clone, "conj_physical_", uniform=True)  # real numbers that share memory stay equal


@operation(forms=Forms({"input": "self"}))
def conj_physical_(self: TensorBase) -> TensorBase:
    """In-place version of ``conj_physical``."""
    return name_written(in_place(self, conj_physical) if self._ms_dtype.is_complex else _as_it_is(self), "ConjPhysicalBackward1")


def resolve_conj(input: TensorBase) -> TensorBase:
    """Return a copy with the conjugation computed, or ``input`` if its conjugate bit is not set."""
    return clone(mirrored.resolved(input)) if is_conj(input) else input


def resolve_neg(input: TensorBase) -> TensorBase:
    """Return a copy with the negation computed, or ``input`` if its negative bit is not set."""
    return clone(mirrored.resolved(input)) if is_neg(input) else input


def is_conj(input: TensorBase) -> bool:
    """Return whether the tensor has its conjugate bit set."""
    return mirrored.signs_of(input)[0]


def is_neg(input: TensorBase) -> bool:
    """Return whether the tensor has its negative bit set."""
    return mirrored.signs_of(input)[1]


@operation(one_device=OneDevice("out_complex_out"))
def complex(real: TensorBase, imag: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the complex tensor with the given real and imaginary parts."""
    _check_parts(real, imag, out)
    if real._ms_dtype is float16:
        found = clone(view_as_complex(stack(broadcast_tensors(real, imag), -1)))
        return found if out is None else deliver(found, out)
    return watch(elementwise(_complex, (real, imag), out), *filter(is_tracked, (real, imag)))


def _check_parts(first: TensorBase, second: TensorBase, out: TensorBase | None) -> None:
    if any(not part._ms_dtype.is_floating_point or part._ms_dtype.ms is None for part in (first, second)):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {type_word(first._ms_dtype)} and "
            f"{type_word(second._ms_dtype)}"
        )
    if first._ms_dtype is not second._ms_dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_word(first._ms_dtype)} but got scalar type {type_word(second._ms_dtype)} "
            "for "
            "second argument"
        )
    if out is not None and out._ms_dtype is not first._ms_dtype.to_complex():
        raise RuntimeError(
            f"Expected object of scalar type {type_word(first._ms_dtype.to_complex())} but got scalar type {type_word(out._ms_dtype)} for "
            "argument 'out'"
        )


@operation(autocast=FLOAT32_ON_CPU, one_device=OneDevice("out_polar_out"))
def polar(abs: TensorBase, angle: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the complex tensor with the given absolute values and angles."""
    _check_parts(abs, angle, out)
    return elementwise(_polar, (abs, angle), out)


def set_real(self: TensorBase, value: TensorBase) -> None:
    """Implement ``tensor.real = value``."""
    copy_(real(self), value)


def set_imag(self: TensorBase, value: TensorBase | Any) -> None:
    """Implement ``tensor.imag = value``."""
    copy_(imag(self), value)


NAMED_METHODS = {"real": property(real, set_real), "imag": property(imag, set_imag), "_conj": conj, "_neg_view": neg_view}
