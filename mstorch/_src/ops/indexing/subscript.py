"""``tensor[key]`` with all of torch's keys, and what a key selects."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...backend.arrays import within
from ...backend.errors import WRONG_MASK, telling
from ...backend.geometry import contiguous_strides
from ...backend.table import kernel
from ...core.dtype import bool_, int32, int64, uint8
from ...core.modes import modes
from ...core.one_device import check_index
from ...core.storage import Storage
from ...core.strides import iterated_strides, view_strides
from ...core.tensor_base import TensorBase, array_of, strides_of, tensor_of
from ...core.warned import warn
from ...tape.windows import PART, sorted_view
from .._dispatch import (
    call,
    cast_tensor,
    readable,
)
from .._true_positions import true_positions
from ..shape import views
from ._index_checks import not_numbers
from ._keys import (
    end_of_slice,
    is_read,
    is_whole,
    place_in_key,
    stands_for_a_tuple,
    with_ellipses,
    without_ellipsis,
)
from ._values_put import type_name

_index = kernel("index")
_MASKS = (np.bool_, np.uint8)


def as_index(item: Any) -> Any:
    """Return a list, array or tensor in a key as an index tensor (int64 or bool)."""
    if isinstance(item, TensorBase):
        kind = item._ms_dtype
        if kind is uint8:
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
            return item.to(bool_)
        if kind is not bool_ and kind is not int64:
            if kind.category != 1 or kind is not int32 and item._ms_shape:  # narrower ones may be numbers, not rows of positions
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            return cast_tensor(item, int64)
        return item
    if isinstance(item, (list, tuple, range)):
        item = np.asarray([i.tolist() if isinstance(i, TensorBase) else i for i in item])
        if item.dtype.kind in "OUS":
            raise not_numbers(item)
        if item.size == 0 or item.dtype.kind == "f":
            item = item.astype(np.int64)
    if item.dtype == np.uint8:
        item = item.astype(np.bool_)
    if item.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return tensor_of(np.ascontiguousarray(item, None if item.dtype.kind == "b" else np.int64).reshape(item.shape))


def items_of(key: Any, rank: int) -> list[Any]:
    """Return the key as a list with an item per dimension, without Ellipsis."""
    if isinstance(key, list) and stands_for_a_tuple(key):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] "
            "instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either "
            "in an error or a different result"
        )
        key = tuple(key)
    items: list[Any] = []
    used = ellipses = 0
    for item in key if isinstance(key, tuple) else (key,):
        # An array without dimensions selects, as a number does; one of bool or uint8 is a mask.
        if isinstance(item, np.bool_) or isinstance(item, np.ndarray) and not item.ndim and item.dtype not in _MASKS:
            item = int(item)
        items.append(item)
        if item is Ellipsis:
            ellipses += 1
        elif isinstance(item, TensorBase) and item._ms_dtype in (bool_, uint8):
            used += len(item._ms_shape)
        elif item is not None and not isinstance(item, bool):
            used += 1  # for an array too, as torch counts it, whatever its rank
    if used > rank:
        raise _too_many(key, items, rank)
    return _without_ellipses(items, rank, used, ellipses) if ellipses else items


def _too_many(key: Any, items: list[Any], rank: int) -> IndexError:
    if rank == 0 and isinstance(key, (int, np.integer)):
        if items[0]:
            return IndexError(f"index {items[0]} is out of bounds for dimension 0 with size 0")
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
            "tensor to a number"
        )
    if key.__class__ is slice:
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError(f"too many indices for tensor of dimension {rank}")


def _without_ellipses(items: list[Any], rank: int, used: int, ellipses: int) -> list[Any]:
    """Return the items with full slices for the first Ellipsis; others stand for no dimension, unless some are left."""
    if used < rank and ellipses > 1:
        return with_ellipses(items, rank, used)
    place = next(place for place, item in enumerate(items) if item is Ellipsis)
    items[place : place + 1] = [slice(None)] * (rank - used)
    return [item for item in items if item is not Ellipsis]


def basic_view(self: TensorBase, key: Any) -> tuple[Any, dict[int, Any]]:
    """Return the view by the key's ints, slices and Nones, and the key's index tensors as a dict by dimension of that view."""
    current = self
    dim = 0
    advanced: dict[int, Any] = {}
    items = items_of(key, len(self._ms_shape))
    for number, item in enumerate(items):
        shape = current._ms_shape
        if isinstance(item, bool):
            current = views.unsqueeze(current, dim)
            advanced[dim] = tensor_of(np.zeros(1 if item else 0, np.int64))
            dim += 1
        elif item is None:
            current = views.unsqueeze(current, dim)
            dim += 1
        elif isinstance(item, slice):
            # As in torch, a slice of a whole dimension makes no view of its own, and no node.
            if not is_whole(item, shape[dim : dim + 1]):
                current = _sliced(current, dim, item)
            dim += 1
        elif isinstance(item, (int, np.integer)) or (
            isinstance(item, TensorBase) and item._ms_dtype.category == 1 and item._ms_dtype is not uint8 and not item._ms_shape
            and is_read(item)
        ):
            index = int(item)
            if not -shape[dim] <= index < shape[dim]:
                place = place_in_key(key, number, len(items))
                raise IndexError(f"index {index} is out of bounds for dimension {place} with size {shape[dim]}")
            current = views.select(current, dim, index)
        elif isinstance(item, (TensorBase, np.ndarray, list, tuple, range)):
            check_index(self, item)
            index = as_index(item)
            # A mask is replaced by the places of its True elements: from here on there is one kind of index.
            if index._ms_dtype is bool_:
                dim, current = _add_mask(current, dim, index, advanced)
            else:
                advanced[dim] = index
                dim += 1
        elif hasattr(item, "__index__"):
            current = views.select(current, dim, item.__index__())
        elif isinstance(item, str):
            raise TypeError("new(): invalid data type 'str'")
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type_name(item)})"
            )
    return views.alias(current) if current is self and not advanced else current, advanced


def _add_mask(current: TensorBase, dim: int, mask: TensorBase, advanced: dict[int, Any]) -> tuple[int, Any]:
    """Replace a boolean mask by the index tensors of its True elements, one per dimension of the mask."""
    shape = current._ms_shape
    if not mask._ms_shape:
        current = views.unsqueeze(current, dim)
        (advanced[dim],) = true_positions(mask)
        return dim + 1, current
    for i, length in enumerate(mask._ms_shape):
        if length != shape[dim + i]:
            raise telling(IndexError(
                f"The shape of the mask {list(mask._ms_shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + i}"
            ), WRONG_MASK)  # fmt: skip
    for i, positions in enumerate(true_positions(mask)):
        advanced[dim + i] = positions
    return dim + len(mask._ms_shape), current


def _sliced(current: TensorBase, dim: int, item: slice) -> TensorBase:
    length = current._ms_shape[dim]
    step = 1 if item.step is None else end_of_slice(item.step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    start = None if item.start is None else end_of_slice(item.start)
    stop = None if item.stop is None else end_of_slice(item.stop)
    start, stop, step = slice(start, stop, step).indices(length)
    if start == 0 and step == 1 and stop == length:
        return views.slice_dim(current, dim, 0, length, 1)
    return views.slice_dim(current, dim, start, max(start, stop), step)


def plan_of(advanced: dict[int, Any]) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the broadcast shape of the index tensors, the indexed dimensions, and whether these are adjacent; a single index tensor counts
    as adjacent."""
    if len(advanced) == 1:
        ((dim, index),) = advanced.items()
        return index._ms_shape, (dim,), True
    try:
        common = np.broadcast_shapes(*(index._ms_shape for index in advanced.values()))
    except ValueError:
        shapes = ", ".join(str(list(index._ms_shape)) for index in advanced.values())
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None
    dims = tuple(sorted(advanced))
    adjacent = dims == tuple(range(dims[0], dims[0] + len(dims)))
    return tuple(common), dims, adjacent


def refuse_places_in_empty(shape: tuple[int, ...], advanced: dict[int, Any]) -> None:
    """Raise torch's error if a non-empty index tensor indexes a dimension of length 0."""
    for dim, index in advanced.items():
        if not shape[dim] and 0 not in index._ms_shape:
            raise IndexError("index is out of bounds for dimension with size 0")


def check_bounds(shape: tuple[int, ...], advanced: dict[int, Any]) -> None:
    if 0 in shape:
        refuse_places_in_empty(shape, advanced)
    # torch moves the indexed dimensions to the front before it numbers them.
    for dim, index in sorted(advanced.items()):
        values = None if 0 in index._ms_shape else readable(index)
        if values is None:  # a device's kernels check the range
            continue
        if not within(values, -shape[dim], shape[dim] - 1):
            if 0 in shape:
                advanced[dim] = index * 0
                continue
            raise _first_out_of_bounds(shape, advanced)


def _first_out_of_bounds(shape: tuple[int, ...], advanced: dict[int, Any]) -> IndexError:
    """Return torch's IndexError for the first index out of bounds."""
    dims = sorted(advanced)
    values = np.broadcast_arrays(*(array_of(advanced[dim]) for dim in dims))
    wrong = np.stack([(found < -shape[dim]) | (found >= shape[dim]) for dim, found in zip(dims, values)], -1)
    element, position = divmod(int(wrong.reshape(-1).argmax()), len(dims))
    value, size = values[position].reshape(-1)[element], shape[dims[position]]
    return IndexError(f"index {value} is out of bounds for dimension {position} with size {size}")


_NONE = type(None)
_BOUNDS = frozenset(itertools.product((int, _NONE), repeat=3))  # one look-up for the classes of a slice's start, stop and step
_LABELS = {slice: "SliceBackward0"}


def window_of(self: TensorBase, key: Any) -> TensorBase | None:
    """Return the view of host memory for a key of ints, slices, None and an Ellipsis within bounds; None for any other key."""
    # One function, because it is the path of every x[0] and x[:, 1:3]: a call for each item would cost as much as its arithmetic.
    given = key
    if key.__class__ is not tuple:
        key = (key,)
    if modes.native is not None or self._ms_storage.__class__ is not Storage:
        return None
    shape, strides, offset = self._ms_shape, self._ms_stride, self._ms_offset
    if strides is None:
        strides = contiguous_strides(shape)
    rank, dim = len(shape), 0
    lengths: list[int] = []
    steps: list[int] = []
    label = _LABELS.get(given.__class__, "AliasBackward0")  # torch's node for a view of all elements
    for item in key:
        kind = item.__class__
        if item is None:
            lengths.append(1)
            steps.append(shape[dim] * strides[dim] if dim < rank else 1)
            label = "UnsqueezeBackward0"
            continue
        if kind is not int and kind is not slice:
            plain = without_ellipsis(key, rank)
            return None if plain is None else window_of(self, plain)
        if dim == rank:
            return None
        length, stride = shape[dim], strides[dim]
        dim += 1
        if kind is int:
            if not -length <= item < length:
                return None
            offset += item % length * stride
            label = "SelectBackward0"
            continue
        bounds = item.start.__class__, item.stop.__class__, item.step.__class__
        if bounds not in _BOUNDS:
            return None
        if bounds != (_NONE, _NONE, _NONE):
            if item.step is not None and item.step <= 0:
                return None
            if label != "SliceBackward0" and not is_whole(item, (length,)):
                label = "SliceBackward0"
            start, stop, step = item.indices(length)
            length = max(0, -((start - stop) // step))
            offset += start * stride
            stride *= step
        lengths.append(length)
        steps.append(stride)
    lengths.extend(shape[dim:])
    steps.extend(strides[dim:])
    return sorted_view(self, label, tuple(lengths), tuple(steps), offset, PART, given)


def getitem(self: TensorBase, key: TensorBase | int | tuple[Any, ...]) -> TensorBase:
    """Return ``self[key]``: a view for ints, slices, None and Ellipsis; a copy for keys with tensors, lists or masks."""
    kind = key.__class__
    if kind is int or kind is slice or kind is tuple:
        found = window_of(self, key)
        if found is not None:
            return found
        if is_whole(key, self._ms_shape):
            return views.alias(self) if kind is tuple else views.slice_dim(self, 0, 0, self._ms_shape[0], 1)
    current, advanced = basic_view(self, key)
    if not advanced:
        return views.alias(self) if current is self else current
    return take_advanced(current, advanced)


def take_advanced(current: TensorBase, advanced: dict[int, Any]) -> TensorBase:
    """Return the elements selected by index tensors, tracked by autograd."""
    shape = current._ms_shape
    common, dims, adjacent = plan_of(advanced)
    check_bounds(shape, advanced)
    indices = tuple(advanced[d] for d in dims)
    strides = _taken_strides(current, dims, indices, common, adjacent)
    return call(_index, (current,), dims, indices, common, adjacent, strides=strides)


def _taken_strides(
    source: TensorBase, dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool
) -> tuple[int, ...] | None:
    """Return torch's strides for elements selected by index tensors, which depend on the source's other dimensions and the indices'
    strides.
    """
    shape = source._ms_shape
    rest = [d for d in range(len(shape)) if d not in dims]
    lengths = [shape[d] for d in rest]
    if source._ms_stride is None and 0 not in common and 0 not in lengths and all(index._ms_stride is None for index in indices):
        return None
    lead = dims[0] if adjacent else 0
    steps = [strides_of(source)[d] for d in rest]
    result = (*lengths[:lead], *common, *lengths[lead:])
    if 0 in result and all((*(1,) * lead, *index._ms_shape, *(1,) * (len(lengths) - lead)) == result for index in indices):
        return None
    operands = [(*steps[:lead], *(0,) * len(common), *steps[lead:])]
    for index in indices:
        missing = len(common) - len(index._ms_shape)
        around = (*(1,) * lead, *index._ms_shape, *(1,) * (len(lengths) - lead))
        wide = (*(1,) * missing, *around)
        found = view_strides(index._ms_shape, strides_of(index), around) or contiguous_strides(around)
        found = (*(0,) * missing, *found)
        operands.append(tuple(step if own == length else 0 for step, own, length in zip(found, wide, result)))
    return iterated_strides(result, operands)


def planned(input: Any, key: Any) -> tuple[Any, ...]:
    """Resolve a key of tensors and full slices: return dimensions, indices, broadcast shape, and whether the dimensions are adjacent."""
    current, advanced = basic_view(input, key)
    common, dims, adjacent = plan_of(advanced)
    check_bounds(current._ms_shape, advanced)
    return dims, tuple(advanced[d] for d in dims), common, adjacent
