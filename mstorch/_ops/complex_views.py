"""Views that read a storage as another type: real parts, imaginary parts, pairs, other dtypes."""
from __future__ import annotations

from typing import Any

from .._backend.raw import Raw, from_numpy
from .._backend.table import kernel
from .._core.dtype import dtype
from .._core.strides import flat_index
from .._core.tensor_base import Space, make_space_view, strides_of, value_of, whole_storage
from ._dispatch import call, type_word
from .views import alias, as_strided

_reshape = kernel("reshape")["float32"]
_pairs = kernel("real_pairs")
_of_pairs = kernel("complex_of_pairs")
_reinterpret = kernel("reinterpret")
_gather = kernel("storage_gather")


def _shape(input: Any) -> tuple[int, ...]:
    return tuple(value_of(input).shape)


def _flat(raw: Raw) -> Raw:
    return _reshape(raw, (-1,))


def _in_space(input: Any, space: Space, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """A view of shape, strides and offset in a storage seen as ``space``."""
    index = from_numpy(flat_index(shape, strides, offset))
    gather = _gather[space.dtype.name]
    return make_space_view(input, space, lambda base: gather(space.read(base), index), shape, strides, offset)


def _reals(input: Any) -> Space:
    """The storage of a complex tensor as real numbers, two for each element."""
    name = input._storage.dtype.name
    kind = input._dtype.to_real()
    pairs, join = _pairs[name], _of_pairs[kind.name]

    def read(base: Raw) -> Raw:
        return _reshape(pairs(base), (-1,))

    def write(base: Raw, flat: Raw) -> Raw:
        return _reshape(join(_reshape(flat, (-1, 2))), tuple(base.shape))

    return Space(read, write, kind)


def _complexes(input: Any) -> Space:
    """The storage of a real tensor as complex numbers, one for each pair of elements."""
    name = input._storage.dtype.name
    kind = input._dtype.to_complex()
    join, pairs = _of_pairs[name], _pairs[kind.name]

    def read(base: Raw) -> Raw:
        return join(_reshape(base, (-1, 2)))

    def write(base: Raw, flat: Raw) -> Raw:
        return _reshape(pairs(flat), tuple(base.shape))

    return Space(read, write, kind)


def _own_complex_space(input: Any) -> bool:
    """Whether a complex tensor is itself a view of a real storage."""
    return input._view is not None and input._view.space is not None


def view_as_real(input: Any) -> Any:
    """A complex tensor as a real view with a last dimension of 2: real and imaginary part."""
    if not input._dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    shape = (*_shape(input), 2)
    strides = (*(2 * step for step in strides_of(input)), 1)
    if _own_complex_space(input):
        return _storage_part(input, shape, strides, 2 * input._offset)
    return _in_space(input, _reals(input), shape, strides, 2 * input._offset)


def _storage_part(input: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """A view in the storage's own dtype of a tensor that is a view in another."""
    return as_strided(whole_storage(input), shape, strides, offset)


def view_as_complex(input: Any) -> Any:
    """A real tensor (…, 2) as a complex view (…)."""
    shape, strides = _shape(input), strides_of(input)
    if not input._dtype.is_floating_point or input._dtype.name == "bfloat16":
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{type_word(input._dtype)}"
        )
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    halves = tuple(step // 2 for step in strides[:-1])
    if _own_complex_space(input):
        return _storage_part(input, shape[:-1], halves, input._offset // 2)
    if value_of(input).size == 0 or input._storage.value.size % 2:
        return call(_of_pairs, (input,))
    return _in_space(input, _complexes(input), shape[:-1], halves, input._offset // 2)


def real(input: Any) -> Any:
    """The real part, as a view; a real tensor itself."""
    return view_as_real(input).select(-1, 0) if input._dtype.is_complex else input


def imag(input: Any) -> Any:
    """The imaginary part, as a view."""
    if not input._dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(input).select(-1, 1)


def view_dtype(input: Any, kind: dtype) -> Any:
    """The bytes of the tensor read as another dtype; the last dimension shrinks or grows with the element size."""
    if kind is input._dtype:
        return alias(input)
    shape, strides = _shape(input), strides_of(input)
    own, wanted = input._dtype.itemsize, kind.itemsize
    if own != wanted:
        if not shape:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {type_word(input._dtype)} as {type_word(kind)} (different element sizes)"
            )
        if strides[-1] != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {type_word(input._dtype)} as {type_word(kind)} (different element sizes), "
                f"but got {strides[-1]}"
            )
    if own < wanted:
        ratio = wanted // own
        if shape[-1] % ratio:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {ratio} to view {type_word(input._dtype)} as {type_word(kind)} (different "
                f"element sizes), but got {shape[-1]}"
            )
        if input._offset % ratio or any(step % ratio for step in strides[:-1]):
            raise RuntimeError(
                f"self.storage_offset() must be divisible by {ratio} to view {type_word(input._dtype)} as {type_word(kind)} "
                f"(different element sizes), but got {input._offset}"
            )
        new_shape = (*shape[:-1], shape[-1] // ratio)
        new_strides = (*(step // ratio for step in strides[:-1]), 1)
        offset = input._offset // ratio
    else:
        ratio = own // wanted
        new_shape = (*shape[:-1], shape[-1] * ratio) if ratio > 1 else shape
        new_strides = (*(step * ratio for step in strides[:-1]), 1) if ratio > 1 else strides
        offset = input._offset * ratio
    storage = input._storage
    if kind is storage.dtype:
        return _storage_part(input, new_shape, new_strides, offset)
    there, back = _reinterpret[storage.dtype.name], _reinterpret[kind.name]
    name = storage.dtype.name
    space = Space(
        lambda base: there(_flat(base), kind.name), lambda base, flat: _reshape(back(flat, name), tuple(base.shape)), kind
    )
    return _in_space(input, space, new_shape, new_strides, offset)


FUNCTIONS = ("view_as_real", "view_as_complex", "real", "imag")
METHODS = ()
PROPERTIES = {"real": real, "imag": imag}
