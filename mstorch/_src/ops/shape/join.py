"""Concatenating, stacking, repeating and rolling."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.errors import not_for, wrong_type
from ...backend.raw import Raw
from ...backend.table import kernel
from ...core.dtype import dtype, int32, int64
from ...core.formats import contiguous_format, memory_format
from ...core.modes import grad_set_to
from ...core.no_memory import counted
from ...core.one_device import OneDevice, axes_elsewhere
from ...core.promotion import can_cast, promote_types
from ...core.size import Size
from ...core.strides import channels_last_strides, normalize, preserved_strides, suggests_channels_last
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, in_order, meta_tensor, tensor_of
from ...core.warned import warn_once
from ...tape.apply import apply
from ...tape.movement import Move, cloned, flipped, permuted
from ...tape.moving import beside
from ...tape.ways import followed, is_known, ways
from ...tape.windows import linear_node, no_view
from .._autocast import WIDEST
from .._dispatch import (
    broadcast_shape,
    call,
    cast_tensor,
    finish,
    shape_args,
    type_word,
    whole,
    with_format,
    wrap_dim,
    wrap_dims,
    wrap_each,
)
from .._forms import Forms
from .._named import node_called
from .._operation import operation
from .._overlaps import refuse_overlap
from ..memory.creation import arange, zeros
from ..memory.from_data import from_numpy
from ..memory.from_data import tensor as make
from . import views

_cat = kernel("cat")
_stack = kernel("stack")
_index_select = kernel("index_select")
_cumsum, _searchsorted = kernel("cumsum"), kernel("searchsorted")
_tile = kernel("tile")
_flip = kernel("flip")
_roll = kernel("roll")


def tensor_list(tensors: Sequence[TensorBase], name: str) -> tuple[Any, ...]:
    """Return the tensors in a list or tuple. Raise TypeError with torch's message for other types."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    for tensor in tensors:
        if not isinstance(tensor, TensorBase):
            number = next(place for place, item in enumerate(tensors) if item is tensor)
            raise TypeError(f"expected Tensor as element {number} in argument 0, but got {type(tensor).__name__}")
    return tuple(tensors)


def _are_alike(tensors: Sequence[Any]) -> bool:
    """Return whether all are row-major tensors of one shape and dtype, for which nothing else needs to be checked."""
    shape, kind = tensors[0]._ms_shape, tensors[0]._ms_dtype
    for tensor in tensors:
        if tensor._ms_shape != shape or tensor._ms_dtype is not kind or tensor._ms_stride is not None:
            return False
    return True


def _common(tensors: Sequence[Any]) -> dtype:
    kind = tensors[0]._ms_dtype
    for tensor in tensors:
        if tensor._ms_dtype is not kind:
            kind = promote_types(kind, tensor._ms_dtype)
    return kind


def _check_kind(kind: dtype, out: TensorBase | None) -> None:
    """Raise torch's error for ``cat`` if ``out`` is given and the dtype cannot be cast to that of ``out``."""
    if out is not None and not can_cast(kind, out._ms_dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {type_word(out._ms_dtype)}")


@operation(numpy_names=True, autocast=WIDEST)
def cat(tensors: Sequence[TensorBase], dim: int = 0, *, out: TensorBase | None = None) -> TensorBase:
    """Concatenate the tensors along ``dim``."""
    tensors = tensor_list(tensors, "cat")
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = tensors[0]._ms_shape
    if out is None and first and first != (0,) and _are_alike(tensors):
        return apply(_cat, tensors[0]._ms_dtype, (list(tensors),), (wrap_dim(dim, len(first)),))
    shapes = [tensor._ms_shape for tensor in tensors]
    for number, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {number}) cannot be concatenated")
    # A tensor of shape (0,) is skipped, as in torch for backward compatibility.
    first = next((shape for shape in shapes if shape != (0,)), (0,))
    if first == (0,):
        # If all are skipped, torch does not check the dimension.
        _check_kind(_common(tensors), out)
        return finish(apply(_cat, _common(tensors), ([cast_tensor(tensor, _common(tensors)) for tensor in tensors],), (0,)), out)
    axis = wrap_dim(dim, len(first))
    for number, shape in enumerate(shapes):
        if shape == (0,) or shape == first:
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (a, b) in enumerate(zip(first, shape)):
            if d != axis and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {a} but got size {b} for tensor "
                    f"number {number} in the list."
                )
    kind = _common(tensors)
    _check_kind(kind, out)
    refuse_overlap(out, *tensors)
    parts = []
    for tensor, shape in zip(tensors, shapes):
        if tensor._ms_dtype is not kind:
            tensor = cast_tensor(tensor, kind)
        if shape == (0,) and len(first) > 1:
            tensor = views.reshape(tensor, (*first[:axis], 0, *first[axis + 1 :]))
        parts.append(tensor)
    made = apply(_cat, kind, (parts,), (axis,))
    if len(first) in (4, 5) and all(t._ms_stride is not None and suggests_channels_last(s, t._ms_stride) for t, s in zip(tensors, shapes)):
        made = in_order(made, normalize(made._ms_shape, channels_last_strides(made._ms_shape)))
    return finish(made, out)


concat = concatenate = cat


@operation(numpy_names=True, autocast=WIDEST)
def stack(tensors: Sequence[TensorBase], dim: int = 0, *, out: TensorBase | None = None) -> TensorBase:
    """Stack tensors of equal size along a new dimension ``dim``."""
    tensors = tensor_list(tensors, "stack")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._ms_shape
    if out is None and _are_alike(tensors):
        return apply(_stack, tensors[0]._ms_dtype, (list(tensors),), (wrap_dim(dim, len(first) + 1),))
    for number, tensor in enumerate(tensors):
        if tensor._ms_shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(tensor._ms_shape)} at "
                f"entry {number}"
            )
    axis = wrap_dim(dim, len(first) + 1)
    kind = _common(tensors)
    _check_kind(kind, out)
    if out is not None and all(out is not tensor for tensor in tensors):
        refuse_overlap(out, *(views.unsqueeze(tensor, 0) for tensor in tensors))  # the operands are views, never ``out`` itself
    parts = [t if t._ms_dtype is kind else cast_tensor(t, kind) for t in tensors]
    made = apply(_stack, kind, (parts,), (axis,))
    if len(first) in (4, 5) and axis < len(first) and all(
        t._ms_stride is not None and suggests_channels_last(first, t._ms_stride) for t in tensors
    ):
        # torch concatenates along an existing dimension and splits it.
        count, joined = len(tensors), list(first)
        joined[axis] *= count
        steps = channels_last_strides(joined)
        made = in_order(made, normalize(made._ms_shape, (*steps[:axis], first[axis] * steps[axis], *steps[axis:])))
    return finish(made, out)


def _at_least(tensor: TensorBase, rank: int) -> TensorBase:
    own = len(tensor._ms_shape)
    if own >= rank:
        return tensor
    if rank == 1:
        return views.reshape(tensor, (1,))
    if rank == 2:
        return views.unsqueeze(_at_least(tensor, 1), 0)
    return views.reshape(tensor, (1, 1, 1)) if own == 0 else (
        views.unsqueeze(views.unsqueeze(tensor, 0), -1) if own == 1 else views.unsqueeze(tensor, -1)
    )


def _each_at_least(tensors: tuple[Any, ...], rank: int) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
        return tuple(_at_least(tensor, rank) for tensor in tensors)
    made = tuple(_at_least(tensor, rank) for tensor in tensors)
    return made[0] if len(made) == 1 else made


def atleast_1d(*tensors: Any) -> Any:
    """Return the tensors with at least one dimension."""
    return _each_at_least(tensors, 1)


def atleast_2d(*tensors: Any) -> Any:
    """Return the tensors with at least two dimensions: (n) as (1, n)."""
    return _each_at_least(tensors, 2)


def atleast_3d(*tensors: Any) -> Any:
    """Return the tensors with at least three dimensions: (n) as (1, n, 1), (n, m) as (n, m, 1)."""
    return _each_at_least(tensors, 3)


def hstack(tensors: Sequence[TensorBase], *, out: TensorBase | None = None) -> TensorBase:
    """Concatenate the tensors along the second dimension, vectors along the first."""
    parts = [_at_least(t, 1) for t in _nonempty(tensors, "hstack")]
    return cat(parts, 0 if len(parts[0]._ms_shape) == 1 else 1, out=out)


def vstack(tensors: Sequence[TensorBase], *, out: TensorBase | None = None) -> TensorBase:
    """Concatenate the tensors along the first dimension, vectors as rows."""
    return cat([_at_least(t, 2) for t in _nonempty(tensors, "vstack")], 0, out=out)


row_stack = vstack


def dstack(tensors: Sequence[TensorBase], *, out: TensorBase | None = None) -> TensorBase:
    """Concatenate the tensors along the third dimension."""
    return cat([_at_least(t, 3) for t in _nonempty(tensors, "dstack")], 2, out=out)


def column_stack(tensors: Sequence[TensorBase], *, out: TensorBase | None = None) -> TensorBase:
    """Concatenate the tensors along the second dimension, vectors as columns."""
    parts = []
    for tensor in _nonempty(tensors, "column_stack"):
        rank = len(tensor._ms_shape)
        parts.append(views.reshape(tensor, (math.prod(tensor._ms_shape), 1)) if rank <= 1 else tensor)
    return cat(parts, 1, out=out)


def _nonempty(tensors: Sequence[TensorBase], name: str) -> tuple[Any, ...]:
    tensors = tensor_list(tensors, name)
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def _nothing(height: int, width: int, block: TensorBase, kind: dtype) -> TensorBase:
    return zeros((height, width), dtype=kind, device=block.device)


@node_called("BlockDiagBackward0")
def block_diag(*tensors: Any) -> TensorBase:
    """Return a block-diagonal matrix of the tensors (of at most two dimensions)."""
    for number, tensor in enumerate(tensors):
        if len(tensor._ms_shape) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {number} has {len(tensor._ms_shape)} "
                "dimensions"
            )
    if not tensors:
        return zeros((1, 0))
    blocks = [_at_least(tensor, 2) for tensor in tensors]
    kind = _common(blocks)
    width = sum(block._ms_shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        height, own = block._ms_shape
        sides = (_nothing(height, before, block, kind), block, _nothing(height, width - before - own, block, kind))
        rows.append(cat(sides, 1))
        before += own
    return cat(rows, 0)


@operation(forms=Forms(star="repeats"))
def repeat(self: TensorBase, *repeats: int | Sequence[int]) -> TensorBase:
    """Repeat the tensor along each dimension; more repeats than dimensions add dimensions in front."""
    counts = shape_args(repeats, "repeat")
    own = self._ms_shape
    if len(counts) < len(own):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    for count in counts:
        if count < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {count}: {list(counts)}")
    return call(_tile, (views.reshape(self, ((1,) * (len(counts) - len(own)) + own)),), counts)


def tile(input: TensorBase, dims: int | Sequence[int]) -> TensorBase:
    """Repeat the tensor along each dimension; missing repeats in front are 1."""
    counts = shape_args((dims,))
    lead = len(input._ms_shape) - len(counts)
    return repeat(input, ((1,) * lead + counts))


@operation(forms=Forms({"repeats": "input"}), numpy_names=True, one_device=OneDevice("_index_select"))
def repeat_interleave(
    input: TensorBase, repeats: TensorBase | int | None = None, dim: int | None = None, *, output_size: int | None = None
) -> TensorBase:
    """Repeat each slice along ``dim`` (or each element of the flattened tensor); for ``repeats`` alone, return the indices."""
    if repeats is None:
        counts = input
        if counts._ms_dtype not in (int32, int64):
            raise not_for("repeat_interleave_cpu", counts._ms_dtype.name)
        if len(counts._ms_shape) != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return _interleaved(arange(counts._ms_shape[0], device=counts.device), counts, 0, output_size).to(counts._ms_dtype)
    if dim is None:
        input, dim = views.flatten(input), 0
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    if not isinstance(repeats, TensorBase):
        if isinstance(repeats, (list, tuple)):
            repeats = make(list(repeats))
        elif repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        else:
            spread = views.expand(
                views.unsqueeze(input, dim + 1), (*shape[: dim + 1], int(repeats), *shape[dim + 1 :])
            )
            return views.flatten(spread.clone(memory_format=_contiguous()), dim, dim + 1)
    if repeats._ms_dtype not in (int32, int64):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if len(repeats._ms_shape) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats._ms_shape in ((), (1,)):
        return no_view(repeat_interleave(input, int(repeats), dim))
    if repeats._ms_shape[0] != shape[dim]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats._ms_shape[0]} and "
            f"input.size({dim}) = {shape[dim]}"
        )
    return _interleaved(input, repeats, dim, output_size)


def _contiguous() -> memory_format:
    return contiguous_format


def _interleaved_unread(input: Any, counts: Any, dim: int, output_size: int | None) -> Any:
    if output_size is None:
        raise NotImplementedError("mstorch: repeat_interleave of repeats without values takes an output_size")
    return call(_index_select, (input,), dim, meta_tensor((output_size,), int64))


def _interleaved_by_kernels(input: Any, counts: Any, dim: int, output_size: int | None) -> Any:
    if is_known(counts) or not counts._ms_shape[0]:
        return None
    counts = counts.detach().to(int64)
    ends = call(_cumsum, (counts,), 0)
    if output_size is None:
        output_size, least = stack((views.select(ends, 0, -1), counts.amin(0))).tolist()
        if least < 0:
            raise RuntimeError("repeats can not be negative")
    places = arange(output_size, device=counts.device)
    return call(_index_select, (input,), dim, beside(call(_searchsorted, (ends, places), True), input))


@ways(at=1, device=_interleaved_by_kernels, absent=_interleaved_unread)
def _interleaved(input: TensorBase, counts: TensorBase, dim: int, output_size: int | None) -> TensorBase:
    array = array_of(counts)
    if (array < 0).any():
        raise RuntimeError("repeats can not be negative")
    positions = np.repeat(np.arange(array.size), array)
    if output_size is not None and output_size != positions.size:
        raise RuntimeError("allocated size does not match required size")
    return call(_index_select, (input,), dim, beside(tensor_of(positions), input))


def flip(input: TensorBase, dims: Sequence[int]) -> TensorBase:
    """Return a copy flipped along the dimensions."""
    if not isinstance(dims, (list, tuple)):
        raise TypeError(f"flip(): argument 'dims' (position 2) must be tuple of ints, not {type(dims).__name__}")
    rank = len(input._ms_shape)
    axes = wrap_dims(dims, rank) if dims else ()
    strides = None if input._ms_stride is None else preserved_strides(input._ms_shape, input._ms_stride)
    return call(_flip, (input,), axes, strides=strides)


def _flip_method(self: TensorBase, *dims: Any, **named: Any) -> TensorBase:
    """Return a copy flipped along the dimensions."""
    if not dims and not named:
        raise wrong_type('flip() missing 1 required positional arguments: "dims"')
    return flip(self, **named) if named else flip(self, shape_args(dims))


def _tile_method(self: TensorBase, *dims: Any, **named: Any) -> TensorBase:
    """Repeat the tensor along each dimension; missing repeats in front are 1."""
    return tile(self, **named) if named else tile(self, shape_args(dims))


def fliplr(input: TensorBase) -> TensorBase:
    """Return a copy with the columns in reverse order."""
    if len(input._ms_shape) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


def flipud(input: TensorBase) -> TensorBase:
    """Return a copy with the rows in reverse order."""
    if not input._ms_shape:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@node_called("RollBackward0")
def roll(input: TensorBase, shifts: Any, dims: int | Sequence[int] | None = None) -> TensorBase:
    """Roll the elements along dimensions, cyclically; without ``dims`` over the flattened tensor."""
    shifts, dims = (int(v) if isinstance(v, TensorBase) else v for v in (shifts, dims))
    moves = (whole(shifts),) if isinstance(shifts, int) else tuple(shifts)
    if moves and moves[0].__class__ is bool:
        raise wrong_type(f"roll(): argument 'shifts' (position 1) must be tuple of ints, not {type(shifts).__name__}")
    if not moves:
        raise RuntimeError("`shifts` required")
    axes: tuple[int, ...] = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    if not axes and len(moves) == 1:
        shape = input._ms_shape
        if shape == (0,):
            return input.clone()
        counted(shape, input._ms_dtype.itemsize)
        flat = views.reshape(input, (-1,) if math.prod(shape) else (0,))
        return no_view(views.reshape(call(_roll, (flat,), moves, (0,)), shape))
    if len(axes) != len(moves):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    rank = len(input._ms_shape)
    if not rank:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if 0 in input._ms_shape:
        return input.clone()
    return with_format(call(_roll, (input,), moves, wrap_each(axes, rank)), input)


def rot90(input: TensorBase, k: int = 1, dims: Any = (0, 1)) -> TensorBase:
    """Return the tensor rotated by 90 degrees ``k`` times, from the first towards the second of ``dims``."""
    dims, k = tuple(dims), whole(k)
    rank = len(input._ms_shape)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == rank:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    whole(dims[0])
    for number, d in enumerate(dims):
        if not -rank <= d < rank:
            raise RuntimeError(f"Rotation dim{number} out of range, dim{number} = {d}")
    k %= 4
    if LEVELS or not followed((input,)):
        return _quarter_turns(input, k, dims)
    with grad_set_to(False):
        made = _quarter_turns(input, k, dims)
    # One node, as in torch: the gradient has the input's memory order too.
    there, back = Move(_turned(k, dims), _turned_raw(k, dims)), Move(_turned(4 - k, dims), _turned_raw(4 - k, dims))
    made._ms_node = linear_node(input, there, back, "Rot90Backward0")
    return made


def _quarter_turns(input: TensorBase, k: int, dims: tuple[int, int]) -> TensorBase:
    if k == 2:
        return flip(input, dims)
    if k in (0, 4):
        return input.clone(memory_format=_contiguous())
    return no_view(views.transpose(flip(input, (dims[1 if k == 1 else 0],)), *dims))


def _turned(k: int, dims: tuple[int, int]) -> Callable[..., Any]:
    def turned(array: Array) -> Array:
        if k == 2:
            return np.flip(array, dims).copy()
        if k in (0, 4):
            return array.copy()
        return np.flip(array, dims[1 if k == 1 else 0]).copy().swapaxes(*dims)

    return turned


def _turned_raw(k: int, dims: tuple[int, ...]) -> Callable[..., Any]:
    def turned(raw: Raw) -> Raw:
        if k in (0, 4):
            return cloned(raw)
        rank = len(raw.shape)
        first, second = (dim % rank for dim in dims)
        if k == 2:
            return flipped(raw, (first, second))
        order = [first if d == second else second if d == first else d for d in range(rank)]
        return permuted(flipped(raw, (second if k == 1 else first,)), order)

    return turned


@operation(one_device=OneDevice(words=axes_elsewhere))
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Return coordinate grids of vectors, as expanded views: with "ij" (the default) or "xy" indexing."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in tensors:
        if tensor._ms_dtype is not tensors[0]._ms_dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if tensor.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
        if len(tensor._ms_shape) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
        )
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    lengths = tuple(math.prod(tensor._ms_shape) for tensor in tensors)
    rank = len(tensors)
    grids = [
        views.expand(views.reshape(tensor, (1,) * i + (-1,) + (1,) * (rank - i - 1)) if lengths[i] else
                     views.reshape(tensor, (1,) * i + (0,) + (1,) * (rank - i - 1)), lengths)
        for i, tensor in enumerate(tensors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: TensorBase) -> TensorBase:
    """Return the Cartesian product of vectors, one combination per row."""
    for tensor in tensors:
        if len(tensor._ms_shape) != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor._ms_shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([views.reshape(grid, (math.prod(grid._ms_shape),)) for grid in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input: TensorBase, r: int = 2, with_replacement: bool = False) -> TensorBase:
    """Return all combinations of ``r`` elements of a vector in order, one per row."""
    shape = input._ms_shape
    if len(shape) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(np.arange(shape[0]), r)), np.int64).reshape(-1, r)
    return no_view(views.reshape(call(_index_select, (input,), 0, from_numpy(rows.reshape(-1))), rows.shape))


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Return the tensors expanded to their broadcast shape; a tensor that already has this shape is returned itself."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape: tuple[int, ...] = ()
    for tensor in tensors:
        shape = broadcast_shape(shape, tensor._ms_shape)
    return tuple(t if t._ms_shape == tuple(shape) else views.expand(t, shape) for t in tensors)


def broadcast_shapes(*shapes: Any) -> Sequence[int]:
    """Return the broadcast shape of shapes."""
    sizes = [[shape] if isinstance(shape, int) else list(shape) for shape in shapes]
    total = [1] * max(map(len, sizes), default=0)
    for number, lengths in enumerate(sizes):
        for i in range(1, len(lengths) + 1):
            length = lengths[-i]
            if total[-i] == 1:
                if length < 0:
                    raise ValueError("Attempting to broadcast a dimension with negative length!")
                total[-i] = length
            elif length not in (1, total[-i]):
                shape = (lengths[0],) if isinstance(shapes[number], int) else shapes[number]
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {length} at {-i}! Mismatching argument at index {number} had "
                    f"{shape}; but expected shape should be broadcastable to {total}"
                )
    return Size(total)


NAMED_METHODS = {"flip": _flip_method, "tile": _tile_method}
