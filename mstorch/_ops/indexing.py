"""``tensor[key]`` and ``tensor[key] = value`` in all of torch's forms."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._backend.cast import cast
from .._backend.raw import NP_DTYPE, ON_CPU, Raw, from_numpy
from .._backend.table import kernel
from .._backend.tape import tracing
from .._core.dtype import bool_, int64, uint8
from .._core.tensor_base import (
    TensorBase,
    check_writable,
    is_tracked,
    recording,
    strided_array,
    value_of,
    write,
)  # fmt: skip
from . import views
from ._dispatch import is_number, python_number, result, scalar_raw, type_word

_index = kernel("index")
_linear = kernel("linear_index")
_scatter = kernel("storage_scatter")
_expand = kernel("expand")
_clone = kernel("clone")
_nonzero = kernel("nonzero")


def _as_index(item: Any) -> Any:
    """A list, array or tensor of a key as a raw index tensor (int64 or bool)."""
    if isinstance(item, TensorBase):
        kind = item._dtype
        if kind is uint8:
            return value_of(item.to(bool_))
        if kind is not bool_ and kind is not int64:
            if kind.category != 1:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            return cast(value_of(item), "int64")
        return value_of(item)
    if isinstance(item, (list, tuple, range)):
        item = np.asarray([i.tolist() if isinstance(i, TensorBase) else i for i in item])
        if item.size == 0:
            item = item.astype(np.int64)
    if item.dtype == np.uint8:
        item = item.astype(np.bool_)
    if item.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return from_numpy(np.ascontiguousarray(item, None if item.dtype.kind == "b" else np.int64))


def _stands_for_a_tuple(key: Any) -> bool:
    """Whether torch reads a list as a tuple of indices: a short one that has a sequence, slice, None or tensor in it."""
    return (
        isinstance(key, list)
        and len(key) < 32
        and any(item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, TensorBase, np.ndarray)) for item in key)
    )


def _expanded(key: Any, rank: int) -> list[Any]:
    """The key as a list of one item a dimension, without Ellipsis."""
    items = list(key) if isinstance(key, tuple) or _stands_for_a_tuple(key) else [key]
    used = 0
    ellipsis = None
    for position, item in enumerate(items):
        if item is Ellipsis:
            if ellipsis is None:
                ellipsis = position
            continue
        if item is None or isinstance(item, (bool, np.bool_)):
            continue
        if isinstance(item, TensorBase) and item._dtype in (bool_, uint8):
            used += len(value_of(item).shape)
        elif isinstance(item, np.ndarray) and item.dtype in (np.bool_, np.uint8):
            used += item.ndim
        else:
            used += 1
    if used > rank:
        if rank == 0 and used == 1 and all(isinstance(item, (int, np.integer)) for item in items):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    if ellipsis is not None:
        items[ellipsis : ellipsis + 1] = [slice(None)] * (rank - used)
        return [item for item in items if item is not Ellipsis]
    return items


def _basic(self: Any, key: Any) -> tuple[Any, dict[int, Raw]]:
    """The view that the key's ints, slices and Nones make, and its index tensors by dimension of that view."""
    current = self
    dim = 0
    selected = 0
    advanced: dict[int, Raw] = {}
    for item in _expanded(key, len(value_of(self).shape)):
        shape = value_of(current).shape
        if isinstance(item, (bool, np.bool_)):
            current = views.unsqueeze(current, dim)
            advanced[dim] = from_numpy(np.zeros(1 if item else 0, np.int64))
            dim += 1
        elif item is None:
            current = views.unsqueeze(current, dim)
            dim += 1
        elif isinstance(item, slice):
            current = _sliced(current, dim, item)
            dim += 1
        elif isinstance(item, (int, np.integer)) or (
            isinstance(item, TensorBase) and item._dtype.category == 1 and item._dtype is not uint8 and not value_of(item).shape
            and tracing() is None
        ):
            index = int(item)
            if not -shape[dim] <= index < shape[dim]:
                raise IndexError(f"index {index} is out of bounds for dimension {dim + selected} with size {shape[dim]}")
            selected += 1
            current = views.select(current, dim, index)
        elif isinstance(item, (TensorBase, np.ndarray, list, tuple, range)):
            raw = _as_index(item)
            if raw.dtype == bool_.ms:
                dim, current = _add_mask(current, dim, raw, advanced)
            else:
                advanced[dim] = raw
                dim += 1
        elif hasattr(item, "__index__"):
            current = views.select(current, dim, item.__index__())
        elif isinstance(item, str):
            raise TypeError("new(): invalid data type 'str'")
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type(item).__name__})"
            )
    return current, advanced


def _add_mask(current: Any, dim: int, mask: Raw, advanced: dict[int, Raw]) -> tuple[int, Any]:
    """A boolean mask stands for the index tensors of its true positions, one for each of its dimensions."""
    shape = tuple(value_of(current).shape)
    if not mask.shape:
        current = views.unsqueeze(current, dim)
        advanced[dim] = from_numpy(np.zeros(1 if bool(mask.asnumpy()) else 0, np.int64))
        return dim + 1, current
    for i, length in enumerate(mask.shape):
        if length != shape[dim + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + i}"
            )
    for i, positions in enumerate(np.nonzero(mask.asnumpy())):
        advanced[dim + i] = from_numpy(positions.astype(np.int64))
    return dim + len(mask.shape), current


def _sliced(current: Any, dim: int, item: slice) -> Any:
    length = value_of(current).shape[dim]
    step = 1 if item.step is None else int(item.step)
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start = None if item.start is None else int(item.start)
    stop = None if item.stop is None else int(item.stop)
    start, stop, step = slice(start, stop, step).indices(length)
    if start == 0 and step == 1 and stop == length:
        return views.alias(current) if item.start is None and item.stop is None else views.slice_dim(current, dim, 0, length, 1)
    return views.slice_dim(current, dim, start, max(start, stop), step)


def _plan(shape: tuple[int, ...], advanced: dict[int, Raw]) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Broadcast shape of the index tensors, the indexed dimensions, and whether the result leads with the former."""
    try:
        common = np.broadcast_shapes(*(tuple(index.shape) for index in advanced.values()))
    except ValueError:
        shapes = ", ".join(str(list(index.shape)) for index in advanced.values())
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None
    dims = tuple(sorted(advanced))
    adjacent = dims == tuple(range(dims[0], dims[0] + len(dims)))
    return tuple(common), dims, adjacent


def _check_bounds(shape: tuple[int, ...], advanced: dict[int, Raw]) -> None:
    if tracing() is not None:
        return
    # torch brings the indexed dimensions to the front before it counts them.
    for position, (dim, index) in enumerate(sorted(advanced.items())):
        if index.size == 0:
            continue
        values = index.asnumpy()
        low, high = int(values.min()), int(values.max())
        if low < -shape[dim] or high >= shape[dim]:
            worst = low if low < -shape[dim] else high
            raise IndexError(f"index {worst} is out of bounds for dimension {position} with size {shape[dim]}")


def getitem(self: Any, key: Any) -> Any:
    """``self[key]``: a view for ints, slices, None and Ellipsis; a copy where the key has tensors, lists or masks."""
    current, advanced = _basic(self, key)
    if not advanced:
        return views.alias(self) if current is self else current
    return take_advanced(current, advanced)


def take_advanced(current: Any, advanced: dict[int, Raw]) -> Any:
    """The elements that index tensors name, recorded."""
    shape = tuple(value_of(current).shape)
    common, dims, adjacent = _plan(shape, advanced)
    _check_bounds(shape, advanced)
    tracked = recording((current,))
    raw = _index[current._dtype.name](value_of(current), dims, tuple(advanced[d] for d in dims), common, adjacent)
    return result(raw, (current,), tracked)


def setitem(self: Any, key: Any, value: Any) -> None:
    """``self[key] = value``, with ``value`` broadcast to the part and converted to the tensor's dtype."""
    check_writable(self)
    current, advanced = _basic(self, key)
    if advanced:
        _put_advanced(current, advanced, value, masked=_has_mask(key))
        return
    part = self if current is self else current
    raw, tracked = _fitted(value, part, tuple(value_of(part).shape))
    write(part, raw, tracked)


def _has_mask(key: Any) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return any(
        isinstance(item, (bool, np.bool_))
        or (isinstance(item, TensorBase) and item._dtype in (bool_, uint8))
        or (isinstance(item, np.ndarray) and item.dtype.kind == "b")
        or (isinstance(item, list) and bool(item) and isinstance(item[0], bool))
        for item in items
    )


def _fitted(value: Any, target: Any, shape: tuple[int, ...]) -> tuple[Raw, bool]:
    """The value as a raw tensor of the target's dtype and the given shape, in memory of its own; and whether tracked."""
    name = target._dtype.name
    if is_number(value):
        value = python_number(value)
        if ON_CPU and tracing() is None:
            if isinstance(value, complex) and target._dtype.category < 3:
                raise RuntimeError(f"value cannot be converted to type {type_word(target._dtype)} without overflow")
            return from_numpy(np.full(shape, value, NP_DTYPE[name])), False
        return _expand[name](scalar_raw(value, name), shape), False
    if isinstance(value, np.ndarray):
        value = views_tensor(value)
    if not isinstance(value, TensorBase):
        raise TypeError(f"can't assign a {type(value).__name__} to a {_old_type(target)}")
    tracked = recording((value,))
    raw = value_of(value)
    fresh = False
    if value._dtype is not target._dtype:
        raw, fresh = cast(raw, name), True
    own = tuple(raw.shape)
    if own != shape:
        squeezed = own
        while len(squeezed) > len(shape) and squeezed[0] == 1:
            squeezed = squeezed[1:]
        _check_fits(own, squeezed, shape)
        raw = _expand[name](raw.reshape(squeezed) if squeezed != own else raw, shape)
        fresh = False
    return (raw if fresh else _clone[name](raw)), tracked


def views_tensor(array: np.ndarray) -> Any:
    """An array as a tensor that shares its memory."""
    from .from_data import from_numpy as tensor_from_numpy

    return tensor_from_numpy(array)


def _check_fits(own: tuple[int, ...], squeezed: tuple[int, ...], shape: tuple[int, ...]) -> None:
    lead = len(shape) - len(squeezed)
    if lead < 0 or any(n != 1 and n != shape[lead + i] for i, n in enumerate(squeezed)):
        for i in range(1, min(len(own), len(shape)) + 1):
            if own[-i] not in (1, shape[-i]):
                raise RuntimeError(
                    f"The expanded size of the tensor ({shape[-i]}) must match the existing size ({own[-i]}) at non-singleton "
                    f"dimension {len(shape) - i}.  Target sizes: {list(shape)}.  Tensor sizes: {list(own)}"
                )
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(own)} cannot be broadcast to indexing result of shape {list(shape)}"
        )


def _old_type(target: Any) -> str:
    return f"torch.{type_word(target._dtype)}Tensor"


def _put_advanced(current: Any, advanced: dict[int, Raw], value: Any, masked: bool) -> None:
    shape = tuple(value_of(current).shape)
    common, dims, adjacent = _plan(shape, advanced)
    _check_bounds(shape, advanced)
    rest = [shape[d] for d in range(len(shape)) if d not in dims]
    if adjacent:
        target = (*rest[: dims[0]], *common, *rest[dims[0] :])
    else:
        target = (*common, *rest)
    if isinstance(value, TensorBase) and value._dtype is not current._dtype and not (masked and not value_of(value).shape):
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_word(current._dtype)} for the destination and {type_word(value._dtype)} for the source."
        )
    try:
        raw, tracked = _fitted(value, current, target)
    except RuntimeError:
        if isinstance(value, TensorBase):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value_of(value).shape)} cannot be broadcast to indexing result "
                f"of shape {list(target)}"
            ) from None
        raise
    if not tracked and not is_tracked(current) and not current._storage.tracked and ON_CPU and tracing() is None:
        key = tuple(advanced[d].asnumpy() if d in advanced else slice(None) for d in range(len(shape)))
        current._storage.own()
        strided_array(current)[key] = raw.asnumpy()
        _touched(current)
        return
    positions = _linear["int64"](shape, dims, tuple(advanced[d] for d in dims), common, adjacent)
    tracked = recording((current,)) or tracked
    write(current, _scatter[current._dtype.name](value_of(current), positions, raw), tracked)


def _touched(tensor: Any) -> None:
    """Count a write that went into the storage's memory."""
    from .._backend.tape import bump_versions

    storage = tensor._storage
    storage.version += 1
    if storage.shared:
        bump_versions([storage.value])
