"""Views, slices and products of jagged nested tensors."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._src.core.nested_parts import is_nested
from ..._src.core.overriding import public_name
from ..._src.core.tensor_base import TensorBase
from ..._src.namespace.symbolic import SymInt
from ..._src.ops._dispatch import wrap_dim
from ..._src.ops.shape import join
from ..._tensor import Tensor
from .keys import read
from .nested_tensor import NestedTensor, of_values
from .ops import form, from_padded, inner, like, longest, matches, needs_plain, padded_values
from .padding import lengths_on_host, on_device, with_host
from .taking import nested_among

Function = Callable[..., Any]


def _sizes(shape: tuple[Any, ...]) -> list[Any]:
    return list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)


# Order and shape of dimensions


@form("transpose")
def transpose(public: Function, input: Any, dim0: int, dim1: int) -> Tensor:
    """Transpose two dimensions, neither of them dimension 0."""
    one, other = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    place = input._ragged_idx
    if place in (one, other):
        if 0 in (one, other):
            raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
        return like(input, input._values.transpose(one - 1, other - 1), other if one == place else one)
    return like(input, input._values.transpose(inner(input, one, "transpose"), inner(input, other, "transpose")))


@form("mT of a tensor")
def matrix_transpose(public: Function, input: Any) -> Any:
    """Transpose the last two dimensions."""
    return transpose(public, input, -2, -1)


@form("permute")
def permute(public: Function, input: Any, *dims: int) -> Tensor:
    """Permute the dimensions; dimension 0 stays first."""
    order = _sizes(dims)
    if len(order) != input.dim():
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({input.dim()}) does not match the length of the desired ordering of "
            f"dimensions ({len(order)})."
        )
    order = [wrap_dim(dim, input.dim()) for dim in order]
    if len(set(order)) != len(order):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if input._lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return like(input, input._values.permute([dim - 1 for dim in order[1:]]), order.index(input._ragged_idx))


def _viewed(input: Any, size: list[Any], name: str, function: Any = None) -> Tensor:
    """Reshape the values; the components' lengths do not change."""
    if input._ragged_idx != 1 and tuple(input._size) != tuple(size):
        raise RuntimeError(
            f"view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is ({input._size}) and size is "
            f"({tuple(size)})."
        )
    if len(size) < 3 or not matches(input, size):
        raise RuntimeError(f"view(): cannot view shape {input._size} as {tuple(size)}")
    place = input._ragged_idx - 1
    wanted = [input._values.shape[place] if i == place else length for i, length in enumerate(size[1:])]
    return like(input, getattr(input._values, name)(wanted) if function is None else function(input._values, wanted))


@form("view")
def view(public: Function, input: Any, *shape: int) -> Tensor:
    """Return a view with another shape."""
    size = _sizes(shape)
    if len(size) == 1 and not isinstance(size[0], int) and not getattr(type(size[0]), "is_symbolic_number", False):
        return like(input, input._values.view(size[0]))  # another dtype
    return _viewed(input, size, "view")


@form("reshape")
def reshape(public: Function, input: Tensor, *shape: int) -> Any:
    """Return a view with another shape, or a copy where that is impossible."""
    return _viewed(input, _sizes(shape), "reshape")


@form("_unsafe_view")
def unsafe_view(public: Function, input: Any, size: Any) -> Any:
    """Reshape like ``view``, without a view relation."""
    return _viewed(input, list(size), "view", public)


@form("view_as", "reshape_as")
def view_as(public: Function, input: Any, other: Any) -> Any:
    """Return a view with another tensor's shape."""
    return _viewed(input, list(other.shape), public_name(public).removesuffix("_as"))


@form("flatten")
def flatten(public: Function, input: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge consecutive dimensions, other than dimension 0 and the ragged one."""
    start, end = (inner(input, dim, "flatten") + 1 for dim in (start_dim, end_dim))
    if start == end:
        return input
    size = list(input._size)
    return _viewed(input, [*size[:start], math.prod(size[start : end + 1]), *size[end + 1 :]], "reshape")


@form("unflatten")
def unflatten(public: Function, input: Any, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split a dimension into several."""
    place = inner(input, dim, "unflatten")
    return like(input, input._values.unflatten(place, sizes), input._ragged_idx + (len(sizes) - 1 if place < input._ragged_idx - 1 else 0))


@form("squeeze")
def squeeze(public: Function, input: Any, dim: int | None = None) -> Tensor:
    """Remove a dimension of length 1."""
    if dim is None:
        raise NotImplementedError("squeeze() of a nested tensor needs a dimension")
    needs_plain(input, "squeeze_dim")
    return like(input, input._values.squeeze(inner(input, dim, "squeeze")))


@form("unsqueeze")
def unsqueeze(public: Function, input: Any, dim: int) -> Tensor:
    """Insert a dimension of length 1, not as the first."""
    place = inner(input, dim, "unsqueeze", True, 1)
    return like(input, input._values.unsqueeze(place), input._ragged_idx + (place <= input._ragged_idx - 1))


@form("expand")
def expand(public: Function, input: Any, *shape: int | SymInt) -> Tensor:
    """Expand dimensions of length 1, without a copy."""
    size = _sizes(shape)
    if not matches(input, size):
        raise RuntimeError(f"expand(): cannot expand shape {input._size} -> {size}")
    return like(input, input._values.expand([-1 if d == input._ragged_idx else size[d] for d in range(1, input.dim())]))


@form("expand_as")
def expand_as(public: Function, input: Any, other: Any) -> Any:
    """Expand a tensor to a nested tensor's shape."""
    if is_nested(input):
        return expand(public, input, *other.shape)
    return like(other, input.expand_as(other._values))


@form("broadcast_to")
def broadcast_to(public: Function, input: Any, size: Any) -> Any:
    """Expand dimensions of length 1 to ``size``, without a copy. Raise ValueError if ``size`` has more dimensions."""
    if len(size) <= input.dim():
        return expand(public, input, *(1,) * (input.dim() - len(size)), *size)
    raise ValueError(
        "broadcast_to(): broadcasting to a higher-dim shape is currently not supported for nested tensors with the jagged layout"
    )


@form("broadcast_tensors")
def broadcast_tensors(public: Function, *tensors: Any) -> Any:
    """Broadcast nested tensors and plain ones of fewer dimensions to one shape."""
    operands = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    lead = next(nested_among(operands))
    if any(not is_nested(item) and item.dim() >= lead.dim() for item in operands):
        raise ValueError(
            "broadcast_tensors(): broadcasting nested tensors with dense tensors of equal or higher dim is not currently supported"
        )
    values = join.broadcast_tensors(*[item._values if is_nested(item) else item for item in operands])
    return tuple(like(lead, item) for item in values)


# Pieces


@form("split", "split_with_sizes")
def split(
    public: Function, input: Any, split_size: int | Sequence[int] | None = None, dim: int = 0, *, split_sizes: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    """Split along a dimension other than dimension 0 and the ragged one."""
    sizes = split_size if split_sizes is None else split_sizes
    name = "split" if isinstance(sizes, int) else "split_with_sizes"
    needs_plain(input, "split_tensor" if isinstance(sizes, int) else "split_with_sizes_default")
    found = [like(input, piece) for piece in input._values.split(sizes, inner(input, dim, name))]
    return tuple(found)


@form("chunk")
def chunk(public: Function, input: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into chunks along a dimension other than the ragged one; along dimension 0, into groups of components."""
    needs_plain(input, "chunk_default")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if wrap_dim(dim, input.dim()) != 0:
        return tuple(like(input, piece) for piece in input._values.chunk(chunks, inner(input, dim, "chunk")))
    lengths = input.part_lengths()
    size = -(-len(lengths) // chunks) if len(lengths) else 1
    groups = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    pieces = input._values.split([int(group.sum()) for group in groups])
    return tuple(
        of_values(piece, with_host(np.concatenate([[0], np.cumsum(group)]), input.device), None, input._ragged_idx)
        for piece, group in zip(pieces, groups)
    )


@form("narrow")
def narrow(public: Function, input: Any, dim: int, start: int, length: int) -> TensorBase:
    """Narrow a dimension other than dimension 0 and the ragged one."""
    needs_plain(input, "narrow")
    return like(input, input._values.narrow(inner(input, dim, "narrow"), start, length))


@form("select")
def select(public: Function, input: Any, dim: int, index: int) -> Tensor:
    """Select an index; along dimension 0, a component."""
    if wrap_dim(dim, input.dim()) == 0:
        return input.unbind()[index]
    place = inner(input, dim, "select")
    if input._lengths is not None:
        raise ValueError("select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes")
    return like(input, input._values.select(place, index), input._ragged_idx - (place < input._ragged_idx - 1))


@form("__getitem__")
def getitem(public: Function, input: Tensor, key: int | tuple[slice, ...]) -> Tensor:
    """Index by ints, slices, ``None`` and the ellipsis."""
    return read(input, key, _sliced)


def _sliced(input: Any, dim: int, key: slice) -> Tensor:
    if key == slice(None):
        return input
    needs_plain(input, "slice_tensor")
    return like(input, input._values[(slice(None),) * inner(input, dim, "slice") + (key,)])


def _put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool, in_place: bool) -> Tensor:
    """Write values at indices, in place or in a copy."""
    indices = list(indices)
    if len(indices) > input.dim():
        raise AssertionError(f"Too many indices: got {len(indices)} but tensor has {input.dim()} dimensions")
    place = input._ragged_idx
    name = "index_put_" if in_place else "index_put"
    if len(indices) < place + 1:
        if not input.is_contiguous():
            raise RuntimeError("index_put(): If ragged dimension is not part of indices, this only works on contiguous NJTs")
        dense = padded_values(input, 0.0, longest(input)).index_put(indices, values, accumulate)
        found = from_padded(dense, input)
        if not in_place:
            return found
        input._values.copy_(found._values)
        return input
    lengths, asked = input.part_lengths(), indices[place]
    batch = lengths_on_host(indices[0].detach().clone())
    if (lengths_on_host(asked.detach().clone()) >= lengths[batch]).any():
        raise RuntimeError("Some indices in the ragged dimension are out of bounds!")
    row = on_device(lengths_on_host(input._offsets)[batch], input._values) + asked
    found = getattr(input._values, name)([*indices[1:place], row, *indices[place + 1 :]], values, accumulate)
    return input if in_place else like(input, found)


@form("index_put")
def index_put(public: Function, input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy with values written at indices."""
    return _put(input, indices, values, accumulate, False)


@form("index_put_")
def index_put_(public: Function, input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write values at indices, in place."""
    return _put(input, indices, values, accumulate, True)


@form("__setitem__")
def setitem(public: Function, input: Any, key: Any, value: Any) -> None:
    """Write values at index tensors, or to a slice."""
    keys = key if isinstance(key, tuple) else (key,)
    if all(isinstance(item, TensorBase) for item in keys):
        _put(input, keys, value if isinstance(value, TensorBase) else input._values.new_tensor(value), False, True)
        return
    shown = getitem(public, input, key)
    shown.copy_(value) if isinstance(value, TensorBase) else shown.fill_(value)


# Several tensors


@form("cat")
def cat(public: Function, tensors: Sequence[Any], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors of the same lengths along a dimension other than dimension 0 and the ragged one."""
    lead = next(nested_among(tensors))
    tensors = [item if is_nested(item) else expand_as(public, item, lead) for item in tensors]
    place = inner(lead, dim, "cat")
    return like(tensors[0], join.cat([item._values for item in tensors], place))


@form("stack")
def stack(public: Function, tensors: Sequence[Any], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Stack tensors of the same lengths along a new dimension."""
    for item in tensors:
        if not isinstance(item, NestedTensor):
            raise RuntimeError("stack(): expected all nested tensors inputs")
        if item.dim() != tensors[0].dim():
            raise RuntimeError("stack(): expected all nested tensors to have the same dim")
        if not matches(item, tensors[0].shape):
            raise RuntimeError("stack(): expected all nested tensors to have the same nested structure")
    place = inner(tensors[0], dim, "stack", False, 1)
    return like(tensors[0], join.stack([item._values for item in tensors], place))


@form("matmul", "__matmul__", "__rmatmul__")
def matmul(public: Function, input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Multiply matrices within the components, or all components by one matrix."""
    if public_name(public) == "__rmatmul__":
        input, other = other, input
    left, right = is_nested(input), is_nested(other)
    found = None
    if left and right:
        if input.dim() > 3 and other.dim() > 3 and matches(input, other._size):
            return like(input, input._values.matmul(other._values))
        if input.dim() == other.dim() == 3 and (input._ragged_idx, other._ragged_idx) == (2, 1) and input._size[2] == other._size[1]:
            length = max(longest(input), 1)
            return padded_values(input, 0.0, length).matmul(padded_values(other, 0.0, length))
    elif left and input._ragged_idx < input.dim() - 1:
        if input.dim() >= 3 and input.dim() == other.dim():
            return from_padded(padded_values(input, 0.0, longest(input)).matmul(other), input)
        if other.dim() == 2 and input.dim() > 2:
            found = like(input, input._values.matmul(other))
    elif right and other._ragged_idx >= 2:
        if other.dim() >= 3 and other.dim() == input.dim():
            return from_padded(input.matmul(padded_values(other, 0.0, longest(other))), other)
        if input.dim() == 2 and other.dim() > 2:
            found = like(other, input.matmul(other._values))
    if found is None:
        shapes = [item._size if is_nested(item) else item.shape for item in (input, other)]
        raise RuntimeError(f"matmul(): not supported between inputs of shapes {shapes[0]} and {shapes[1]}")
    return found


@form("bmm")
def bmm(public: Function, input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Any:
    """Multiply batches of matrices, one per component."""
    for name, item in (("input", input), ("mat2", mat2)):
        if item.dim() != 3:
            raise ValueError(f"bmm(): {name} must be 3D")
    return matmul(public, input, mat2)
