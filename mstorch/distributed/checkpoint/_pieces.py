"""A state flattened to named entries, and this rank's shard of each."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mstorch import Tensor

from ..tensor._dtensor import DTensor
from ..tensor._utils import compute_local_shape_and_global_offset
from ..tensor.placement_types import Partial, Shard

Path = tuple[Any, ...]


def flat(state: Tensor | dict[Any, Any], path: Path = ()) -> dict[Path, Any]:
    """Return a dict from paths to the leaves of nested dicts and of lists that contain tensors."""
    if isinstance(state, Mapping) and (not path or state):
        items = list(state.items())
    elif isinstance(state, (list, tuple)) and any(isinstance(one, (Tensor, Mapping, list)) for one in state):
        items = list(enumerate(state))
    else:
        return {path: state}
    found: dict[Path, Any] = {}
    for key, value in items:
        found.update(flat(value, (*path, key)))
    return found


def name_of(path: Path) -> str:
    """Return a path joined with dots: a.b.0"""
    return ".".join(map(str, path))


def told(state: dict[str, Any], path: Path) -> Path:
    """Return the path with dict keys converted to str and list indices as int."""
    found: list[Any] = []
    for key in path:
        found.append(str(key) if isinstance(state, Mapping) else key)
        state = state[key]
    return tuple(found)


def put(state: Any, path: Path, value: Any) -> None:
    """Set the entry at a path."""
    for key in path[:-1]:
        state = state[key]
    if isinstance(state, tuple):
        raise TypeError("mstorch: an entry of a tuple cannot be loaded in place")
    state[path[-1]] = value


def piece(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], Any, tuple[int, ...], bool]:
    """Return this rank's shard of a tensor as (offset, size, data, global size, save); ``save`` is True on the rank that saves the shard.
    """
    if not isinstance(tensor, DTensor):
        shape = tuple(tensor.shape)
        return (0,) * len(shape), shape, tensor.detach(), shape, True
    mesh, placements, shape = tensor.__dict__["_spec"]
    if any(isinstance(placement, Partial) for placement in placements):
        raise NotImplementedError("mstorch: a DTensor that is part of a sum cannot be saved")
    sizes, begin = compute_local_shape_and_global_offset(shape, mesh, placements)
    first = all(isinstance(placement, Shard) or mesh.get_local_rank(dim) == 0 for dim, placement in enumerate(placements))
    return begin, sizes, tensor.to_local().detach(), tuple(shape), first


def overlap(
    begin: tuple[int, ...], sizes: tuple[int, ...], other_begin: tuple[int, ...], other_sizes: tuple[int, ...]
) -> tuple[Any, Any] | None:
    """Return the intersection of two shards as slices of each; None if it is empty."""
    mine, theirs = [], []
    for a, n, b, m in zip(begin, sizes, other_begin, other_sizes):
        start, end = max(a, b), min(a + n, b + m)
        if start >= end:
            return None
        mine.append(slice(start - a, end - a))
        theirs.append(slice(start - b, end - b))
    return tuple(mine), tuple(theirs)
