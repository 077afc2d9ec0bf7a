"""Functions for writing gradient rules: on raw arrays they only compute, on tensors autograd tracks them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.cast import cast
from ..backend.geometry import inverse_order
from ..backend.halves import narrowed, widened
from ..backend.host._sums import halves_along, sum_along
from ..backend.host._ufunc import number
from ..backend.host.matmul import two_products as array_products
from ..backend.host.views import put
from ..backend.raw import NAME_OF, NAME_OF_NP, NP_DTYPE, Raw, from_numpy, raw_dtype, raw_shape
from ..backend.table import kernel, serves
from ..core.dtype import dtype
from ..core.modes import followed_capture
from ..core.storage import NATIVE
from ..core.strides import preserved_strides
from ..core.tensor_base import TensorBase, array_of, is_tracked, laid_out, on_device, strides_of, tensor_of
from ..quiet import quiet
from . import movement
from .apply import apply
from .bare import bare, dressed
from .movement import Move
from .operands import Operand
from .primitives import Primitive, constant, dtype_name, elementwise, factor, shape_of
from .ways import ways
from .windows import linear

add, sub, mul, div, neg = elementwise("add"), elementwise("sub"), elementwise("mul"), elementwise("div"), elementwise("neg")
exp, log, sqrt, sin, cos = (elementwise(name) for name in ("exp", "log", "sqrt", "sin", "cos"))
sinh, cosh, tanh, sigmoid, reciprocal = (elementwise(name) for name in ("sinh", "cosh", "tanh", "sigmoid", "reciprocal"))
scalar_power, conj_ = elementwise("scalar_power"), elementwise("conj")
mm, bmm, linear_product, add_product = Primitive("mm"), Primitive("bmm"), Primitive("linear"), Primitive("add_product")
_sum, _where, _eq = Primitive("sum"), elementwise("where"), Primitive("eq")
gt, lt, le, ge = Primitive("gt"), Primitive("lt"), Primitive("le"), Primitive("ge")
eq, ne = _eq, Primitive("ne")


by_gradient = partial(ways, at=1)
"""``ways`` for gradient rules: dispatched on the second argument, the gradient."""


def two_products(first: tuple[Any, Any] | None, second: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """Return the products of two pairs of matrices, None for a missing pair; single-precision arrays share the host's threads."""
    if first is None or second is None:
        return (None if first is None else mm(*first)), (None if second is None else mm(*second))
    (a, b), (c, d) = first, second
    if a.__class__ is b.__class__ is c.__class__ is d.__class__ is np.ndarray and a.dtype == b.dtype == c.dtype == d.dtype == np.float32:
        return array_products(a, b, c, d)
    return mm(a, b), mm(c, d)


def conj(value: Operand) -> Any:
    """Return the conjugate; return a real value unchanged."""
    if value.__class__ is np.ndarray and value.dtype.kind not in "cV":
        return value
    name = NAME_OF[raw_dtype(value)] if value.__class__ is Raw else dtype_name(value)
    return conj_(value) if name in ("complex64", "complex128", "complex32") else value


def mapped(value: Operand, forward: Any, back: Any, label: str, raw: Any = None, raw_back: Any = None) -> Any:
    """Apply the linear map ``forward``, whose transpose ``back`` gives the gradient; ``raw`` and ``raw_back`` are the two on MindSpore
    tensors, and ``label`` names the node in the autograd graph.
    """
    if value.__class__ is np.ndarray:
        return np.asarray(forward(value))
    if isinstance(value, TensorBase):
        if raw is not None and (value._ms_storage.__class__ in NATIVE or followed_capture()):
            forward, back = Move(forward, raw), Move(back, raw_back)
        return linear(value, forward, back, label)
    return movement.apply_map(forward, value) if raw is None else raw(value)


def sum_array(array: Array, shape: Sequence[int]) -> Array:
    """Sum an array over its broadcast dimensions to ``shape``."""
    lead = array.ndim - len(shape)
    axes = tuple([i for i in range(array.ndim) if i < lead or (shape[i - lead] == 1 and array.shape[i] != 1)])
    if not axes:
        return array.reshape(shape)
    with quiet():
        if array.dtype.itemsize == 2:
            return narrowed(halves_along(array, axes, True), array.dtype).reshape(shape)
        found = sum_along(array, axes, True, array.dtype)
    return np.asarray(found).astype(array.dtype, copy=False).reshape(shape)


def fit(gradient: Operand, shape: tuple[int, ...]) -> Any:
    """Reduce the gradient of a broadcast operand to ``shape`` by summation."""
    own = gradient.shape if gradient.__class__ is np.ndarray else raw_shape(gradient) if gradient.__class__ is Raw else shape_of(gradient)
    if own == shape or own == tuple(shape):
        return gradient
    if gradient.__class__ is Raw:
        return movement.fitted(gradient, tuple(shape))
    return mapped(
        gradient, lambda array: sum_array(array, shape), lambda array: np.broadcast_to(array, own), "SumBackward1",
        lambda raw: movement.fitted(raw, shape), lambda raw: movement.spread(raw, own),
    )  # fmt: skip


def spread(value: Operand, shape: tuple[int, ...]) -> Any:
    """Broadcast the value to a shape."""
    if value.__class__ is np.ndarray:
        return value if value.shape == shape else expanded(value, tuple(shape))
    own = shape_of(value)
    if own == tuple(shape):
        return value
    if value.__class__ is Raw:
        return movement.spread(value, tuple(shape))
    return mapped(
        value, lambda array: np.broadcast_to(array, shape), lambda array: sum_array(array, own), "ExpandBackward0",
        lambda raw: movement.spread(raw, shape), lambda raw: movement.fitted(raw, own),
    )  # fmt: skip


def alias(value: Operand) -> Operand:
    """Return a view of a 0-d value; the node is ExpandBackward0, because torch calls ``expand`` even to the same shape."""
    if value.__class__ is np.ndarray:
        return expanded(value, value.shape)
    return mapped(value, np.ndarray.view, np.asarray, "ExpandBackward0", movement.same, movement.same)


def expanded(array: Array, shape: tuple[int, ...]) -> Array:
    """Faster ``np.broadcast_to`` (0.4 instead of 4 µs) for row-major arrays of frequent dtypes."""
    lead = len(shape) - array.ndim
    if lead < 0 or array.dtype.char not in "fd" or not array.flags.c_contiguous or not array.size:
        return np.broadcast_to(array, shape)
    steps = [0] * lead
    for own, length, step in zip(array.shape, shape[lead:], array.strides):
        if own != length and own != 1:
            return np.broadcast_to(array, shape)  # which raises
        steps.append(0 if own != length else step)
    made: Array = np.ndarray(shape, array.dtype, array, 0, steps)
    made.flags.writeable = False
    return made


def reshape(value: Operand, shape: Sequence[int]) -> Any:
    """Return the value reshaped."""
    if value.__class__ is np.ndarray:
        return value.reshape(shape)
    if value.__class__ is Raw:
        return movement.reshaped(value, tuple(shape))
    own = shape_of(value)
    return mapped(
        value, lambda array: array.reshape(shape), lambda array: array.reshape(own), "ViewBackward0",
        lambda raw: movement.reshaped(raw, shape), lambda raw: movement.reshaped(raw, own),
    )  # fmt: skip


def permute(value: Operand, order: Sequence[int]) -> Operand:
    """Return the value with its dimensions permuted."""
    if value.__class__ is np.ndarray:
        return value.transpose(order)
    if value.__class__ is Raw:
        return movement.permuted(value, tuple(order))
    inverse = inverse_order(order)
    return mapped(
        value, lambda array: array.transpose(order), lambda array: array.transpose(inverse), "PermuteBackward0",
        lambda raw: movement.permuted(raw, order), lambda raw: movement.permuted(raw, inverse),
    )  # fmt: skip


def transpose(value: Operand) -> Operand:
    """Swap the last two dimensions."""
    if value.__class__ is np.ndarray:
        return value.swapaxes(-1, -2)
    rank = len(shape_of(value))
    return permute(value, (*range(rank - 2), rank - 1, rank - 2))


def total(value: Operand, axes: tuple[int, ...], keepdim: bool = True) -> Any:
    """Sum the value along ``axes``."""
    return _sum(value, axes, keepdim)


def times(value: Operand, number: Any) -> Any:
    """Multiply a value by a Python number."""
    return mul(value, factor(number, value))


def plus(value: Operand, number: float) -> Operand:
    """Add a Python number to a value."""
    return add(value, constant(number, value))


def where(condition: Any, first: float | Operand, second: float | Operand) -> Any:
    """Select from ``first`` where ``condition``, a raw boolean array, is True, else from ``second``; either of the two may be a number."""
    like = first if not isinstance(first, (int, float)) else second
    if like.__class__ is np.ndarray and condition.__class__ is np.ndarray:
        if first is not like:
            first = number(first, like)
        elif second.__class__ is not np.ndarray:
            second = number(second, like)
        return _where.kernel.host[NAME_OF_NP[like.dtype]](condition, first, second)
    first, second = (constant(v, like) if isinstance(v, (int, float)) else v for v in (first, second))
    if isinstance(like, TensorBase):
        if not isinstance(condition, TensorBase):
            condition = dressed(condition) if condition.__class__ is Raw else tensor_beside(np.asarray(condition), like)
        return _where.recorded(like._ms_dtype, (condition, first, second))
    name = dtype_name(like)
    if like.__class__ is np.ndarray:
        return _where.kernel.host[name](condition, first, second)
    return _where.kernel[name](condition if condition.__class__ is Raw else from_numpy(np.asarray(condition)), first, second)


def is_complex(value: Operand) -> bool:
    """Return whether the dtype is complex."""
    return dtype_name(value).startswith("complex")


def settled(value: Operand, condition: Any, number: float) -> Any:
    """Return a tensor with the number where the condition holds and the result will not be used, so that its gradient there is 0 and not
    NaN; return a raw array as it is."""
    return where(condition, number, value) if isinstance(value, TensorBase) else value


def bare_condition(value: Operand) -> Any:
    """Return the raw array of a condition, which may be a tensor."""
    return bare(value) if isinstance(value, TensorBase) else value


def fixed(value: Operand) -> Any:
    """Return a value as a constant, which is not differentiated."""
    return like(bare(value), value) if isinstance(value, TensorBase) else value


def sum_of(first: Operand | None, second: Operand | None) -> Operand:
    """Return the sum of two values, either of which may be None for zero."""
    return second if first is None else first if second is None else add(first, second)


def _part_maps(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return two functions of arrays: one indexes an array with a key; the other, its transpose, writes an array at the key into zeros of
    ``shape``."""

    def part(array: Array) -> Array:
        return array[key]

    def placed(array: Array) -> Array:
        whole = np.zeros(shape, array.dtype)
        put(whole, key, array)
        return whole

    return part, placed


def part_of(value: Operand, key: tuple[Any, ...], label: str = "SliceBackward0") -> Operand:
    """Index the value with a key of slices and integers."""
    if value.__class__ is Raw:
        return movement.part(value, key)
    own = shape_of(value)
    part, placed = _part_maps(key, own)
    return mapped(value, part, placed, label, lambda raw: movement.part(raw, key), lambda raw: movement.placed(raw, key, own))


def placed_in(value: TensorBase, key: Any, shape: tuple[int, ...]) -> TensorBase:
    """Return zeros of a shape with the value written at a key."""
    if value.__class__ is Raw:
        return movement.placed(value, key, shape)
    part, placed = _part_maps(key, shape)
    return mapped(value, placed, part, "SliceBackward0", lambda raw: movement.placed(raw, key, shape), lambda raw: movement.part(raw, key))


def zeros_beside(shape: Sequence[int], value: TensorBase | Raw) -> Raw:
    """Return zeros of a shape with the device and dtype of ``value``, as a tensor if ``value`` is a tensor, else as a raw array."""
    raw = movement.zeros(shape, dtype_name(value))
    return dressed(raw) if isinstance(value, TensorBase) else raw


def tensor_beside(array: Array, like: TensorBase) -> TensorBase:
    """Return a NumPy array as a constant tensor on the device of ``like``."""
    return on_device(from_numpy(np.array(array, order="C"))) if like._ms_storage.__class__ in NATIVE else tensor_of(array)


_scatter, _index_write, placed_at = Primitive("scatter"), Primitive("index_write"), Primitive("index_placed")
"""``placed_at(value, shape, *key)`` returns zeros with ``value`` added at index tensors; ``key`` are the arguments of ``index``."""


def scattered(value: Raw, shape: tuple[int, ...], dim: int, index: Raw) -> Raw:
    """Scatter-add a MindSpore tensor into zeros of the given shape, at an index along a dimension."""
    return _scatter(zeros_beside(shape, value), value, dim, index, "add")


def rows_added(value: Any, shape: tuple[int, ...], dim: int, index: Any) -> Any:
    """Add the entries of a MindSpore tensor to zeros of the given shape, at positions (a vector) along a dimension."""
    return _index_write(zeros_beside(shape, value), value, dim, index, True)


power, softmax, rsqrt = elementwise("pow"), Primitive("softmax"), elementwise("rsqrt")
abs_, log1p = elementwise("abs"), elementwise("log1p")
flip, pad = Primitive("flip"), Primitive("pad")


def like(array: Array, value: Operand) -> Any:
    """Return a raw array as a constant on the device of ``value``; as a tensor if ``value`` is a tensor."""
    if array.__class__ is Raw:
        return dressed(array) if isinstance(value, TensorBase) else array
    if array.dtype == np.float32 and dtype_name(value) == "bfloat16":  # host_array has widened it
        array = array.astype(NP_DTYPE["bfloat16"])
    if isinstance(value, TensorBase):
        return tensor_beside(array, value)
    if value.__class__ is np.ndarray:
        return array
    return from_numpy(array)


def zeros(shape: tuple[int, ...], kind: dtype) -> Array:
    """Return a zero-filled array."""
    return np.zeros(shape, kind.np)


def host_array(value: Operand) -> Array:
    """Return a value as a NumPy array, for conditions and counts, which are not differentiated."""
    found = bare_condition(value)
    found = found if found.__class__ is np.ndarray else found.asnumpy()
    return widened(found) if found.dtype == NP_DTYPE["bfloat16"] else found  # NumPy does not compare those


def _raw(value: Operand) -> Raw | None:
    """Return a value's MindSpore tensor, or None for a value on the host."""
    found = bare_condition(value)
    return found if found.__class__ is Raw else None


def compared(how: Any, value: Any, number: float) -> Raw:
    """Compare a value on a device with a number; returns a MindSpore tensor."""
    raw = _raw(value)
    assert raw is not None
    return how.kernel[dtype_name(raw)](raw, constant(number, raw))


def negated(condition: Raw) -> Raw:
    """Return the logical negation of a device condition."""
    return kernel("logical_not")["bool"](condition)


def is_zero(value: Operand) -> Array:
    """Return a raw boolean array: True where a value is zero."""
    if _raw(value) is not None:
        return compared(eq, value, 0)
    return np.asarray(host_array(value) == 0)


def has_zero(value: Operand) -> bool:
    """Return whether an element is zero; this waits for the device."""
    found = is_zero(value)
    if found.__class__ is np.ndarray:
        return bool(found.any())
    return bool(kernel("any")["bool"](found, tuple(range(len(found.shape))), False).asnumpy())


def at_least_zero(value: Operand) -> Any:
    """Return a raw boolean array: True where a real value is nonnegative; True everywhere for complex values."""
    raw = _raw(value)
    if raw is not None:
        return from_numpy(np.ones(raw.shape, bool)) if dtype_name(raw).startswith("complex") else compared(ge, value, 0)
    array = host_array(value)
    return np.ones(array.shape, bool) if array.dtype.kind == "c" else array >= 0


def in_one_kernel(op: str, slope: Callable[..., Any], array: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return the gradient rule ``slope(g, value, *numbers)``, computed by the kernel ``op`` on MindSpore tensors of dtypes that it takes on
    the device, and by ``array`` on NumPy arrays.
    """
    row = Primitive(op)
    return ways(array=array, raw=lambda g, value, *numbers: row(g, value, *numbers) if serves(op, dtype_name(g)) else None)(slope)


def converted(value: Operand, name: str) -> Operand:
    """Cast a value to another dtype; complex numbers are cast to a real dtype by their real part."""
    return mapped(value, movement.conversion(name), movement.conversion(dtype_name(value)), "ToCopyBackward0")


def cat(values: Sequence[Any], axis: int) -> Operand:
    """Concatenate values along an axis."""
    if values[0].__class__ is np.ndarray:
        return np.concatenate(values, axis)
    axis %= len(shape_of(values[0]))
    if values[0].__class__ is Raw:
        return movement.joined(values, axis)
    return apply(_cat, values[0]._ms_dtype, (list(values),), (axis,))


_cat = kernel("cat")


def both(first: Array, second: Array) -> Array:
    """Return the logical and of two conditions, one of which may be on the host."""
    if first.__class__ is Raw or second.__class__ is Raw:
        return kernel("logical_and")["bool"](_on_device(first), _on_device(second))
    return np.logical_and(first, second)


def either(first: Array, second: Array) -> Any:
    """Return the logical or of two conditions, one of which may be on the host."""
    if first.__class__ is Raw or second.__class__ is Raw:
        return kernel("logical_or")["bool"](_on_device(first), _on_device(second))
    return np.logical_or(first, second)


def _on_device(condition: Any) -> Raw:
    return condition if condition.__class__ is Raw else from_numpy(np.asarray(condition))


sgn, erf = elementwise("sgn"), elementwise("erf")


def signs(value: Operand, keeps_nan: bool = False) -> Array:
    """Return the sign of each element of a real value as a raw array; 0 for NaN, as in torch, or NaN on request."""
    raw = _raw(value)
    if raw is not None:
        found = sgn.kernel[dtype_name(raw)](raw)
        return where(ne(raw, raw), raw, found) if keeps_nan else found
    array = host_array(value)
    if keeps_nan:
        with quiet():
            return np.sign(array)
    return np.asarray(np.greater(array, 0).astype(array.dtype) - np.less(array, 0).astype(array.dtype))


def shares(first: Operand, second: Operand) -> tuple[Array, Array]:
    """Return, for each operand of a maximum, its share of the gradient as a raw array: 1 if it is larger, 1/2 if the two are equal, 1 for
    both if one is NaN, else 0."""
    a, b = _raw(first), _raw(second)
    if a is not None and b is not None:
        name = dtype_name(a)
        half = cast(eq(a, b), name)
        half = mul(half, constant(0.5, half))
        return sub(cast(negated(lt(a, b)), name), half), sub(cast(negated(gt(a, b)), name), half)
    x, y = host_array(first), host_array(second)
    equal = np.asarray(x == y) * 0.5
    return np.asarray(1 - (x < y) - equal).astype(x.dtype), np.asarray(1 - (x > y) - equal).astype(x.dtype)


def wide_where_bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a gradient rule to compute half-precision NumPy arrays in float32, rounded once at the end.

    On tensors, which autograd tracks, each operation rounds, as in torch where torch composes the gradient.
    """

    def computed(*values: Any) -> Operand:
        first = values[0]
        if first.__class__ is not np.ndarray or first.dtype.itemsize != 2:
            return function(*values)
        found = function(*[widened(value) if value.__class__ is np.ndarray else value for value in values])
        return narrowed(found, first.dtype)

    return computed


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a rule like ``wide_where_bare``, but compute half-precision tensors in float32 too and round once, as torch's fused kernels
    do."""
    in_one_step = wide_where_bare(function)

    def computed(*values: Any) -> Any:
        first = values[0]
        if not isinstance(first, TensorBase) or first._ms_dtype.itemsize != 2 or first._ms_storage.__class__ in NATIVE:
            return in_one_step(*values)
        return _with_values(function(*values), in_one_step(*[bare(value) if isinstance(value, TensorBase) else value for value in values]))

    return computed


def _with_values(found: TensorBase, values: Array) -> TensorBase:
    """Overwrite the values of tensors composed of several operations by ``values``, which one kernel computed; the autograd graph stays."""
    for result, value in zip(found, values) if found.__class__ is tuple else ((found, values),):
        if isinstance(result, TensorBase):
            array_of(result)[...] = value
    return found


def less_than(value: Operand, bound: float) -> Array:
    """Return a raw boolean array: True where a value is less than a number."""
    if _raw(value) is not None:
        return compared(lt, value, bound)
    array = comparable(value)
    return np.less(array, array.dtype.type(bound))


def at_most(value: Operand, bound: float) -> Array:
    """Return a raw boolean array: True where a value is at most a number."""
    if _raw(value) is not None:
        return compared(le, value, bound)
    array = comparable(value)
    return np.less_equal(array, array.dtype.type(bound))


def at_least(value: Operand, bound: float) -> Array:
    """Return a raw boolean array: True where a value is at least a number."""
    if _raw(value) is not None:
        return compared(ge, value, bound)
    array = comparable(value)
    return np.greater_equal(array, array.dtype.type(bound))


def above(value: Operand, bound: float) -> Array:
    """Return a raw boolean array: True where a value is greater than a number."""
    if _raw(value) is not None:
        return compared(gt, value, bound)
    array = comparable(value)
    return np.greater(array, array.dtype.type(bound))


def comparable(value: Operand) -> Array:
    """Return a value as a NumPy array that can be compared with numbers: half precision is cast to float32."""
    array = host_array(value)
    return widened(array) if array.dtype.itemsize == 2 else array


def nothing(g: Operand, shape: tuple[int, ...] | None = None) -> Any:
    """Return zeros that do not depend on the gradient: like the gradient in shape and memory order, or row-major if ``shape`` is given."""
    own = shape_of(g)
    if g.__class__ is Raw or isinstance(g, TensorBase) and g._ms_storage.__class__ in NATIVE:
        return zeros_beside(own if shape is None else shape, g)
    if shape is not None:
        return like(np.zeros(shape, NP_DTYPE[dtype_name(g)]), g)
    if g.__class__ is np.ndarray:
        return np.zeros_like(g)
    if not isinstance(g, TensorBase):
        return like(np.zeros(own, NP_DTYPE[dtype_name(g)]), g)
    return laid_out(np.zeros(own, g._ms_dtype.np), preserved_strides(own, strides_of(g)))


def flat_in(found: Operand, value: Any) -> Any:
    """Return the gradient ``found`` plus zeros that depend on ``value`` in the autograd graph: torch's gradient depends on ``value`` in its
    graph, although the derivative is zero."""
    if not isinstance(found, TensorBase) or not is_tracked(value):
        return found
    shape, name = value._ms_shape, value._ms_dtype.name

    def nothing(_: Array) -> Array:
        return np.zeros(shape, NP_DTYPE[name])

    def nothing_raw(_: Raw) -> Raw:
        return movement.zeros(shape, name)

    return add(found, fit(mapped(value, nothing, nothing, "ZerosLikeBackward0", nothing_raw, nothing_raw), found._ms_shape))
