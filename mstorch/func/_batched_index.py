"""Batching rules of indexing: by ints and slices, by index tensors, by masks."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Number
from .._src.core.dtype import bool_, uint8
from .._src.core.tensor_base import TensorBase
from .._src.ops.memory.creation import arange
from .._src.ops.memory.from_data import as_tensor
from .._tensor import Tensor
from ._batched import BatchedTensor, Op, batched, differing_in, everywhere, front, is_of, maps_of
from ._batched_loop import by_slices, expanded, unmapped_error
from ._batched_rules import bound, ruled, shifted

NO_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask."
)


class Places:
    """A parsed index. ``basic``: its ints, slices and Nones, which select a view. ``tensors``: the index tensor of each dimension of this
    view, or None."""

    def __init__(self, index: Any, rank: int) -> None:
        items = list(index) if isinstance(index, tuple) else [index]
        self.refused = any(isinstance(item, (bool, np.bool_)) for item in items)
        self.basic: list[Any] = []
        self.tensors: list[Any] = []
        items = [self._advanced(item) for item in items]
        used = sum(_dims_of(item) for item in items)
        if not any(item is Ellipsis for item in items):
            items.append(Ellipsis)
        for item in items:
            if item is Ellipsis:
                self._keep(max(rank - used, 0))
            elif isinstance(item, TensorBase):
                wide = _dims_of(item)
                self.basic.extend([slice(None)] * wide)
                if wide > 1 or item._ms_dtype is bool_:
                    self.tensors.extend(item.nonzero().unbind(1))
                else:
                    self.tensors.append(item)
            else:
                self.basic.append(item)
                if not isinstance(item, int):
                    self.tensors.append(None)
        while self.tensors and self.tensors[-1] is None:
            self.tensors.pop()

    def _keep(self, count: int) -> None:
        self.basic.extend([slice(None)] * count)
        self.tensors.extend([None] * count)

    @staticmethod
    def _advanced(item: Tensor | int | slice | None) -> Any:
        if isinstance(item, (list, tuple, np.ndarray)):
            item = as_tensor(item)
        if isinstance(item, TensorBase):
            if item._ms_dtype in (bool_, uint8) and isinstance(item, BatchedTensor):
                raise RuntimeError(NO_MASK)
            if item._ms_dtype is uint8:
                return item.bool()
        return item

    @property
    def plain(self) -> bool:
        """True if the index has no index tensors, so that the result is a view."""
        return not self.tensors

    @property
    def chosen(self) -> list[int]:
        """The dimensions that have index tensors."""
        return [place for place, item in enumerate(self.tensors) if item is not None]

    @property
    def adjacent(self) -> bool:
        """True if the dimensions that have index tensors are adjacent."""
        chosen = self.chosen
        return chosen[-1] - chosen[0] + 1 == len(chosen)


def _dims_of(item: Any) -> int:
    """Return the number of dimensions that an index item consumes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, TensorBase) and item._ms_dtype is bool_:
        return len(item._ms_shape)
    return 1


def _index_of_values(op: Op, value: Tensor, mapped: bool, places: Places) -> tuple[Any, int, int]:
    """Return the index for the values, the number of dimensions that its index tensors produce, and the first of these dimensions in the
    result of a slice."""
    tensors = [item for item in places.tensors if item is not None]
    wide = max(len(item._ms_shape) for item in tensors)
    lined = iter(_with_leading_batch(op, tensors, wide))
    index = [slice(None) if item is None else next(lined) for item in places.tensors]
    at = places.chosen[0] if places.adjacent else 0
    if mapped:
        count = arange(op.map.size)
        index = [count.reshape(-1, *(1,) * wide), *index]
    return tuple(index), wide, at


def _with_leading_batch(op: Op, tensors: Sequence[Any], wide: int) -> list[Any]:
    found = []
    for item in tensors:
        if is_of(item, op.map):
            value = front(item)
            item = value.reshape(op.map.size, *(1,) * (wide - len(value._ms_shape) + 1), *value._ms_shape[1:])
        found.append(item)
    return found


def _whole(op: Op, places: Places) -> bool:
    """Return whether an index tensor is batched, or the index tensors are not adjacent."""
    return any(is_of(item, op.map) for item in places.tensors if item is not None) or not places.adjacent


@ruled("Tensor.__getitem__")
def getitem(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Index a tensor."""
    tensor, index = args
    mapped = is_of(tensor, op.map)
    if _has_places_in_slices(index, op):
        return by_slices(op, args, kwargs)
    places = Places(index, len(tensor._ms_shape))
    if places.refused:
        return by_slices(op, args, kwargs)
    if not mapped:
        view = tensor[tuple(places.basic)]
        found, wide, at = _index_of_values(op, view, False, places)
        result = view[found]
        return batched(result, at, op.map)
    value = front(tensor)[(slice(None), *places.basic)]
    if places.plain:
        return batched(value, 0, op.map)
    if not _whole(op, places):
        return batched(value[(slice(None), *(slice(None) if item is None else item for item in places.tensors))], 0, op.map)
    found, wide, at = _index_of_values(op, value, True, places)
    result = value[found]
    # An index of the vmap's dimension moves the indexed dimensions to the front; otherwise they replace the dimensions that were indexed.
    if at and wide:
        result = result.movedim(tuple(range(1, 1 + wide)), tuple(range(1 + at, 1 + at + wide)))
    return batched(result, 0, op.map)


def _has_places_in_slices(index: Any, op: Op) -> bool:
    items = index if isinstance(index, tuple) else (index,)
    for item in items:
        if isinstance(item, slice) and any(isinstance(end, TensorBase) for end in (item.start, item.stop, item.step)):
            return True
        if isinstance(item, (list, tuple)) and any(isinstance(part, TensorBase) for part in item):
            return True
    return False


def _put(op: Op, target: Any, index: Any, value: Tensor | Number, accumulate: bool) -> None:
    """Write into an indexed part of a batched tensor."""
    places = Places(index, len(target._ms_shape))
    inner = front(target)[(slice(None), *places.basic)]
    if places.plain:
        inner.copy_(_valued(op, value, len(inner._ms_shape) - 1, inner))
        return
    found, wide, at = _index_of_values(op, inner, True, places)
    rank = len(inner._ms_shape) - 1 - len(places.chosen) + wide
    value = _valued(op, value, rank, inner)
    if at and wide and isinstance(value, TensorBase):
        lead = len(value._ms_shape) - rank
        if lead <= 0:
            value = value.reshape((1,) * (rank - len(value._ms_shape)) + value._ms_shape)
            lead = 0
        value = value.movedim(tuple(range(lead + at, lead + at + wide)), tuple(range(lead, lead + wide)))
    if accumulate:
        inner.index_put_(found, value, accumulate=True)
    else:
        inner[found] = value


def _valued(op: Op, value: Any, rank: int, like: Tensor) -> Any:
    """Return the value to write, as a tensor; a batched one with the batch dimension first and padded with 1s to ``rank`` further
    dimensions."""
    if not is_of(value, op.map):
        return value if isinstance(value, TensorBase) else as_tensor(value, dtype=like._ms_dtype)
    found = front(value)
    while len(found._ms_shape) - 1 > rank and found._ms_shape[1] == 1:
        found = found.squeeze(1)
    return found.reshape(op.map.size, *(1,) * (rank - len(found._ms_shape) + 1), *found._ms_shape[1:])


@ruled("Tensor.__setitem__")
def setitem(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Write into an indexed part of a tensor. Raise RuntimeError if the target is not batched."""
    target, index, value = args
    if not is_of(target, op.map):
        Places(index, len(target._ms_shape))
        raise unmapped_error(op)
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, bool) for item in items) or _has_places_in_slices(index, op):
        return by_slices(op, args, kwargs)
    if any(isinstance(item, BatchedTensor) and item._ms_dtype in (bool_, uint8) for item in items):
        if len(items) == 1 and not isinstance(value, TensorBase) and items[0]._ms_shape == target._ms_shape:
            raise RuntimeError(NO_MASK)
    _put(op, target, index, value, False)
    return None


def _new_target(op: Op, target: Any, given: tuple[Any, ...]) -> Any:
    """Return a copy of a tensor that is batched also in each outer vmap in which a value to be written, or an index, is."""
    maps = {map for one in given for map in maps_of(one) if map.depth < op.map.depth}
    outer = sorted(maps, key=lambda map: map.depth)
    return everywhere(expanded(target, op.map), outer, differing_in(given)).clone()


@ruled("index_put index_put_ _unsafe_index_put")
def index_put(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return the tensor with values put, or accumulated, at indices."""
    given = bound(op, args, kwargs)
    target, indices, values = given["input"], tuple(given["indices"]), given["values"]
    if op.name.endswith("_"):
        if not is_of(target, op.map):
            raise unmapped_error(op)
    else:
        target = batched(_new_target(op, target, (values, *indices)), 0, op.map)
    index = tuple(slice(None) if item is None else item for item in indices)
    _put(op, target, index, values, bool(given.get("accumulate", False)))
    return target


@ruled("index_select")
def index_select(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Select slices at indices along a dimension."""
    given = bound(op, args, kwargs)
    tensor, dim, index = given["input"], given["dim"], given["index"]
    rank = len(tensor._ms_shape)
    if given.get("out") is not None or not rank or len(index._ms_shape) != 1:
        return by_slices(op, args, kwargs)
    if not is_of(index, op.map):
        return batched(op(front(tensor), shifted(op, dim, rank), index), 0, op.map)
    place = shifted(op, dim, rank) - 1
    return getitem(op, (tensor, (*(slice(None),) * place, index)), {})


@ruled("index_fill index_add index_copy", in_place=True)
def index_write(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Write at unbatched indices along a dimension."""
    given = bound(op, args, kwargs)
    target, index = given["input"], given["index"]
    in_place = op.name.endswith("_")
    if in_place and not is_of(target, op.map):
        raise unmapped_error(op)
    rank = len(target._ms_shape)
    if given.get("out") is not None or not rank or is_of(index, op.map) or is_of(given.get("value"), op.map):
        return by_slices(op, args, kwargs)
    given["dim"] = shifted(op, given["dim"], rank)
    if "source" in given:
        if len(given["source"]._ms_shape) != rank:
            return by_slices(op, args, kwargs)
        given["source"] = expanded(given["source"], op.map)
    result = op(expanded(given.pop("input"), op.map), **given)
    return target if in_place else batched(result, 0, op.map)


@ruled("take")
def take(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return elements at indices of the flattened tensor."""
    given = bound(op, args, kwargs)
    tensor, index = given["input"], given["index"]
    if given.get("out") is not None:
        return by_slices(op, args, kwargs)
    flat = batched(front(tensor).flatten(1) if tensor._ms_shape else front(tensor).unsqueeze(1), 0, op.map) if is_of(
        tensor, op.map
    ) else tensor.reshape(-1)
    return getitem(op, (flat, (index,)), {})


@ruled("take_along_dim")
def take_along_dim(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return elements at indices along a dimension, with broadcasting."""
    given = bound(op, args, kwargs)
    if given.get("dim") is None or len(given["input"]._ms_shape) != len(given["indices"]._ms_shape):
        return by_slices(op, args, kwargs)
    dim = shifted(op, given["dim"], len(given["input"]._ms_shape))
    return batched(op(expanded(given["input"], op.map), expanded(given["indices"], op.map), dim), 0, op.map)
