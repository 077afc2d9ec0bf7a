"""Views, slices and joins of strided nested tensors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.nested_parts import is_nested
from ..._src.core.overriding import public_name
from ..._src.ops._dispatch import wrap_dim
from ..._src.ops.shape import join
from ..._tensor import Tensor
from .keys import read
from .strided import by_part, in_buffer, last_length, length_of, of_parts, parts, viewed
from .strided_ops import form, needs_rows, rows_of
from .taking import nested_among

Function = Callable[..., Any]
_FEATURE = (
    "{0}(): For nested tensors, {1} not supported at the moment if you need this feature, please open an issue on github describing "
    "your use case."
)


# Sizes alone


@form("transpose")
def transpose(public: Function, input: Any, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions of the components transposed."""
    one, other = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    if one == other:
        return input
    if not one or not other:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    order = list(range(input.dim() - 1))
    order[one - 1], order[other - 1] = other - 1, one - 1
    return viewed(input, input._sizes[:, order], input._steps[:, order])


@form("mT of a tensor")
def matrix_transpose(public: Function, input: Any) -> Any:
    """Transpose the last two dimensions."""
    return transpose(public, input, -2, -1)


@form("squeeze")
def squeeze(public: Function, input: Any, dim: int | None = None) -> Tensor:
    """Return a view with a dimension of length 1 removed."""
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however you can use "
            "squeeze(Tensor self, int dim) instead if you need this feature, please open an issue on github describing your use case."
        )
    place = wrap_dim(dim, input.dim())
    if place == 0:
        raise RuntimeError(_FEATURE.format("squeeze", "squeezing dimension 0 is"))
    if length_of(input, place) != 1:
        return input
    if input.dim() == 2:
        raise RuntimeError(_FEATURE.format("squeeze", "squeezing a nested tensor of singleton tensors is").replace(" if you", ", if you"))
    return viewed(input, np.delete(input._sizes, place - 1, 1), np.delete(input._steps, place - 1, 1))


@form("unsqueeze")
def unsqueeze(public: Function, input: Any, dim: int) -> Tensor:
    """Return a view with a dimension of length 1 inserted."""
    place = wrap_dim(dim, input.dim() + 1)
    if place == 0:
        raise RuntimeError(_FEATURE.format("unsqueeze", "unsqueezing dimension 0 is"))
    sizes, steps = input._sizes, input._steps
    step = sizes[:, place - 1] * steps[:, place - 1] if place - 1 < sizes.shape[1] else np.ones(len(sizes), np.int64)
    return viewed(input, np.insert(sizes, place - 1, 1, 1), np.insert(steps, place - 1, step, 1))


def _reshaped_sizes(input: Any, shape: Sequence[int], name: str) -> Array:
    """Return the components' sizes for a proposed shape, in which -1 keeps a component's own length."""
    if not shape:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not len(input._sizes):
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if shape[0] != len(input._sizes):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    wanted = list(shape[1:])
    old = input._sizes.shape[1]
    if len(wanted) > old and wanted[:old].count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in wanted[old:]:
        raise RuntimeError("only one dimension can be inferred" if wanted[old:].count(-1) > 1 else "nested tensor does not infer shape")
    for length in wanted:
        if length < -1:
            raise RuntimeError(f"invalid shape dimension {length}")
    rows = [[size[i] if length == -1 else length for i, length in enumerate(wanted)] for size in input._sizes.tolist()]
    sizes = np.array(rows, np.int64).reshape(len(rows), len(wanted))
    for own, new in zip(input._sizes.prod(1), sizes.prod(1)):
        if own != new:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {own}")
    return sizes


def _lengths(shape: tuple[Any, ...]) -> list[int]:
    first = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return [int(length) for length in first]


@form("view")
def view(public: Function, input: Tensor, *shape: int) -> Tensor:
    """Return a view of the components with other shapes. Raise RuntimeError if that needs a copy."""
    sizes = _reshaped_sizes(input, _lengths(shape), "view")
    steps = []
    for part, size in zip(parts(input), sizes.tolist()):
        try:
            steps.append(part.detach().view(size).stride())
        except RuntimeError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
                "subspaces). Use .reshape(...) instead."
            ) from None
    return viewed(input, sizes, np.array(steps, np.int64).reshape(sizes.shape))


@form("reshape")
def reshape(public: Function, input: Tensor, *shape: int) -> Any:
    """Return the components with other shapes, as a copy where a view is impossible."""
    _reshaped_sizes(input, _lengths(shape), "reshape")
    try:
        return view(public, input, *shape)
    except RuntimeError:
        return view(public, of_parts(parts(input)), *shape)


# Parts


@form("select")
def select(public: Function, input: Any, dim: int, index: int) -> Tensor:
    """Return component ``index`` for dimension 0, else the view ``select(dim - 1, index)`` of each component."""
    place, count = wrap_dim(dim, input.dim()), len(input._sizes)
    if place == 0:
        if not count:
            raise IndexError("You can only select when the NT is not empty.")
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {count}")
        return parts(input)[index]
    lengths = input._sizes[:, place - 1]
    for number, length in enumerate(lengths.tolist()):
        if not -length <= index < length:
            raise IndexError(
                f"index {index} is out of bounds for dimension {place - 1} of the {number}th constituent tensor with size {length}"
            )
    at = np.where(index < 0, lengths + index, index)
    starts = input._starts + at * input._steps[:, place - 1]
    return viewed(input, np.delete(input._sizes, place - 1, 1), np.delete(input._steps, place - 1, 1), starts)


@form("__getitem__")
def getitem(public: Function, input: Tensor, key: int) -> Tensor:
    """Index by ints, ``None`` and the ellipsis; slices are allowed within a component only."""
    return read(input, key, _no_slice)


def _no_slice(input: Any, dim: int, key: slice) -> Any:
    raise NotImplementedError(
        "Could not run 'aten::slice.Tensor' with arguments from the 'NestedTensorCPU' backend: a nested tensor takes numbers"
    )


@form("narrow")
def narrow(public: Function, input: Any, dim: int, start: int, length: int) -> Tensor:
    """Return a view of ``length`` components from ``start`` on. Raise RuntimeError for a dimension other than 0."""
    if wrap_dim(dim, input.dim()) != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    count = len(input._sizes)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative")
    if not -count <= start <= count:
        raise RuntimeError(f"start out of range (expected to be in range of [{-count}, {count}], but got {start})")
    start = start + count if start < 0 else start
    if start + length > count:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({count}).")
    needs_rows(input, "narrow(): only contiguous nested tensors supported")
    some = slice(start, start + length)
    return viewed(input, input._sizes[some], input._steps[some], input._starts[some])


def _split_last(input: Any, lengths: Sequence[int]) -> list[Any]:
    found, begin = [], 0
    for length in lengths:
        sizes = input._sizes.copy()
        sizes[:, -1] = length
        found.append(viewed(input, sizes, input._steps, input._starts + begin * input._steps[:, -1]))
        begin += length
    return found


@form("chunk")
def chunk(public: Function, input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of equal chunks along the last dimension."""
    if wrap_dim(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    needs_rows(input, "chunk expects `self` to be contiguous.")
    last = last_length(input)
    if last % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by chunks, got: "
            f"{last} % {chunks} != 0"
        )
    return tuple(_split_last(input, [last // chunks] * chunks))


@form("split_with_sizes", "split")
def split_with_sizes(public: Function, input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """Return views of chunks of the given sizes along the last dimension."""
    if wrap_dim(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    if isinstance(split_sizes, int) or public_name(public) == "split":
        raise NotImplementedError("Could not run 'aten::split.Tensor' with arguments from the 'NestedTensorCPU' backend.")
    if not len(split_sizes):
        raise RuntimeError("split_with_sizes expects number of splits to be greater than 0, got: 0")
    needs_rows(input, "split_with_sizes expects `self` to be contiguous.")
    last = last_length(input)
    if sum(split_sizes) != last:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {last} (input tensor's size at dimension {input.dim() - 1}), but got "
            f"split_sizes={list(split_sizes)}"
        )
    return _split_last(input, split_sizes)


@form("cat")
def cat(public: Function, tensors: Sequence[Any], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate the lists of components along dimension 0; along another dimension, concatenate each component with the corresponding
    components of the other tensors."""
    first = next(nested_among(tensors))
    place = wrap_dim(dim, first.dim())
    for tensor in tensors:
        if not is_nested(tensor):
            raise RuntimeError(
                "Expected each tensor in given list to be nested." if place == 0
                else "cat(): expected each tensor in given list to be nested"
            )
        needs_rows(
            tensor, "Expected each tensor in given list to be contiguous." if place == 0
            else "cat(): only contiguous nested tensors are supported",
        )  # fmt: skip
    if place == 0:
        full = [tensor for tensor in tensors if len(tensor._sizes)]
        if not full:
            return first
        return in_buffer(join.cat([tensor._packed()._values for tensor in full]), np.concatenate([tensor._sizes for tensor in full]))
    for tensor in tensors[1:]:
        if not np.array_equal(np.delete(tensor._sizes, place - 1, 1), np.delete(first._sizes, place - 1, 1)):
            raise RuntimeError("cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim")
    rank = first.dim() - 2
    if any(length_of(tensor, 2 + d) is None for tensor in tensors for d in range(rank)):
        raise RuntimeError("cat(): only nested tensors with a single ragged dim next to the batch dim are supported")
    if place == 1:
        return by_part(lambda *row: join.cat(row), *tensors)
    sizes = first._sizes.copy()
    sizes[:, place - 1] = sum(length_of(tensor, place) for tensor in tensors)
    return in_buffer(join.cat([rows_of(tensor, rank) for tensor in tensors], place - 1).reshape(-1), sizes)
