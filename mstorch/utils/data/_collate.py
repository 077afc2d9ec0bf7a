"""Collation of samples into batches: default_collate stacks, default_convert only converts to tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..._src.core.dtype import float64
from ..._src.core.formats import strided
from ..._src.ops.memory.from_data import as_tensor, tensor
from ..._src.ops.shape.join import stack
from ..._tensor import Tensor

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
_STRING_KINDS = "SUO"


def default_convert(data):
    """Convert NumPy arrays and scalars in nested ``data`` to tensors; tuples become lists."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (np.str_, np.bytes_)):
        return data if data.dtype.kind in _STRING_KINDS else as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(item) for item in data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, [default_convert(item) for item in data])
    return data


def default_collate(batch):
    """Collate a list of samples to a batch with the samples' structure.

    Tensors and arrays are stacked, numbers become tensors, strings stay lists. Raise RuntimeError for samples of different lengths,
    TypeError for unknown types.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch, *, collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] | None = None):
    """Collate a batch with the functions in ``collate_fn_map``, keyed by the types of the leaves."""
    first = batch[0]
    for types, function in _candidates(type(first), collate_fn_map or {}):
        if isinstance(first, types):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        items = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return like_mapping(first, items)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)]
        return type(first)(*columns)
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]
        return like_sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _candidates(kind: type, functions: dict[Any, Any]) -> Any:
    # The exact type has precedence: bool is an int, and a user may have registered a function for a subclass.
    if kind in functions:
        return [(kind, functions[kind])]
    return functions.items()


def like_mapping(original: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """Return ``items`` as a mapping of the original's type; as a dict if this type cannot be constructed."""
    try:
        if isinstance(original, MutableMapping):
            # A copy keeps other state of the mapping, such as the factory of a defaultdict.
            result = copy.copy(original)
            result.update(items)
            return result
        return type(original)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def like_sequence(original: Sequence[Any], items: list[Any]) -> Any:
    """Return ``items`` as a sequence of the original's type; as a list if the original is a tuple or its type cannot be constructed."""
    if isinstance(original, tuple):
        return items
    try:
        if isinstance(original, MutableSequence):
            result = copy.copy(original)
            for i, item in enumerate(items):
                result[i] = item
            return result
        return type(original)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def collate_tensor_fn(batch, *, collate_fn_map=None):
    first = batch[0]
    kind = "nested" if first.is_nested else "sparse" if first.layout is not strided else None
    if kind is not None:
        raise RuntimeError(
            f"Batches of {kind} tensors are not currently supported by the default collate_fn; please provide a custom collate_fn to "
            "handle them appropriately."
        )
    return stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    if batch[0].dtype.kind in _STRING_KINDS:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    return tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
