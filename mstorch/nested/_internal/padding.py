"""Padding of variable-length components, and its removal, by one gather of rows; the positions of rows are computed on the host."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.device import device
from ..._src.core.modes import modes
from ..._src.core.tensor_base import array_of
from ..._src.ops.memory import creation
from ..._src.ops.memory.from_data import made
from ..._tensor import Tensor
from ...utils.weak import WeakTensorKeyDictionary


def lengths_on_host(tensor: Tensor) -> Array:
    """Return offsets or lengths as an array; read from a device once per version of the tensor."""
    known = _on_host.get(tensor)
    if known is None or known[0] != tensor._ms_counter.version:
        known = _on_host[tensor] = (tensor._ms_counter.version, np.array(array_of(tensor), np.int64))
    return known[1]


_on_host: Any = WeakTensorKeyDictionary()  # host copies of offsets and lengths, each with the version of the tensor when it was read


def with_host(array: Array, device: device | str | int) -> Tensor:
    """Return an array as a tensor on a device, and remember the array, so that later reads need no transfer."""
    tensor = made(np.ascontiguousarray(array, np.int64)).to(device)
    _on_host[tensor] = (tensor._ms_counter.version, np.array(array, np.int64))
    return tensor


def on_device(array: Array, beside: Tensor) -> Tensor:
    """Return an int64 array as a tensor on another's device."""
    return made(np.ascontiguousarray(array, np.int64)).to(beside.device)


_positions: Any = WeakTensorKeyDictionary()  # by offsets tensor: its version, and by width the positions in a padded tensor


def padded_positions(offsets: Tensor, width: int) -> Tensor:
    """Return the position in a padded (components, width) tensor of each element of the concatenated components, truncated to ``width``.
    Cached for the offsets."""
    known = _positions.get(offsets)
    if known is None or known[0] != offsets._ms_counter.version:
        known = _positions[offsets] = (offsets._ms_counter.version, {})
    found = known[1].get(width)
    if found is None:
        lengths = np.minimum(np.diff(lengths_on_host(offsets)), width)
        found = on_device(np.repeat(np.arange(len(lengths)) * width, lengths) + steps_within(lengths), offsets)
        if not modes.inference and len(known[1]) < 8:  # a tensor made in inference mode could not be saved for backward later
            known[1][width] = found
    return found


def steps_within(lengths: Array) -> Array:
    """Return 0, 1, … within each component, concatenated."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def places(sizes: Array, outer: Sequence[int]) -> tuple[Array, int]:
    """Return the positions, counted in rows, of the components' rows in a padded tensor of shape (components, *outer), and the length of a
    row.

    A row consists of the trailing dimensions in which every component has the full size."""
    rank = sizes.shape[1]
    whole = rank
    while whole > 1 and (sizes[:, whole - 1] == outer[whole - 1]).all():
        whole -= 1
    width = int(np.prod(outer[whole:], dtype=np.int64))
    found = []
    block = int(np.prod(outer[:whole], dtype=np.int64))
    for number, row in enumerate(sizes[:, :whole].tolist()):
        place = np.zeros((1,), np.int64)
        for length, full in zip(row, outer[:whole]):
            place = (place[:, None] * full + np.arange(length)).reshape(-1)
        found.append(place + number * block)
    return np.concatenate(found) if found else np.zeros(0, np.int64), width


def padded(rows: Tensor, sizes: Array, outer: Sequence[int], padding: float) -> Tensor:
    """Return a tensor of shape (components, *outer) from concatenated elements of components, padded."""
    position, width = places(sizes, outer)
    shape = (len(sizes), *outer)
    if len(position) * width == int(np.prod(shape, dtype=np.int64)):
        return rows.reshape(shape)
    base = creation.full((int(np.prod(shape, dtype=np.int64)) // max(width, 1), width), padding, dtype=rows.dtype, device=rows.device)
    return base.index_copy(0, on_device(position, rows), rows.reshape(-1, width)).reshape(shape)


def unpadded(dense: Tensor, sizes: Array) -> Tensor:
    """Return the elements of components of the given sizes from the start of a padded tensor, concatenated."""
    position, width = places(sizes, tuple(dense.shape[1:]))
    rows = dense.reshape(-1, width) if width else dense.reshape(0, 0)
    if len(position) == len(rows):
        return rows.reshape(-1)
    return rows.index_select(0, on_device(position, dense)).reshape(-1)
