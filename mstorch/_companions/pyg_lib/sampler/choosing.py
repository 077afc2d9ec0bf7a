"""Edges of some nodes, and a choice among them: NumPy on arrays, all nodes of a step at once."""
from __future__ import annotations

import numpy as np

from ...._src.backend.arrays import Array


def edges_of(bounds: Array, nodes: Array) -> tuple[Array, Array]:
    """Return for each edge of some nodes, one node after the other, the number of the node among them and the edge's place."""
    counts = bounds[nodes + 1] - bounds[nodes]
    group = np.repeat(np.arange(len(nodes)), counts)
    within = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return group, bounds[nodes][group] + within


def chosen(
    group: Array, count: int, draw: np.random.Generator, replace: bool = False, weight: Array | None = None, last: bool = False
) -> Array:
    """Return the places of ``count`` elements of each group (all if it has no more, or ``count`` is negative), group by group.

    With ``replace`` each that is not empty has ``count``, and an element may be there twice. ``weight`` are relative chances. ``last``
    takes the end of a group. ``group`` must be sorted.
    """
    if count < 0 or not len(group):
        return np.arange(len(group))
    names, starts, sizes = np.unique(group, return_index=True, return_counts=True)
    if replace:
        if weight is None:
            within = (draw.random((len(names), count)) * sizes[:, None]).astype(np.int64)
            return (starts[:, None] + within).reshape(-1)
        ends = np.cumsum(weight, dtype=np.float64)
        before = ends[starts] - weight[starts]
        levels = before[:, None] + draw.random((len(names), count)) * (ends[starts + sizes - 1] - before)[:, None]
        return np.clip(np.searchsorted(ends, levels, side="right"), starts[:, None], (starts + sizes - 1)[:, None]).reshape(-1)
    number = np.repeat(np.arange(len(names)), sizes)
    within = np.arange(len(group)) - starts[number]
    if last:
        return np.flatnonzero(within >= sizes[number] - count)
    if not (sizes > count).any():
        return np.arange(len(group))
    keys = draw.random(len(group))
    if weight is not None:  # the smallest of exponential times, whose rates are the weights
        with np.errstate(divide="ignore"):
            keys = -np.log1p(-keys) / weight
    order = np.lexsort((keys, number))
    return np.sort(order[within < count])


def numbered(known: Array, keys: Array) -> tuple[Array, Array]:
    """Return the number of each key: its first place among those known, or one after them in the order in which keys first appear; and the
    keys that were not known, in that order."""
    both = np.concatenate([known, keys])
    _, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    place = first[inverse.reshape(-1)][len(known) :]
    fresh = np.unique(place[place >= len(known)])
    return np.where(place < len(known), place, len(known) + np.searchsorted(fresh, place)), both[fresh]


__all__ = ["chosen", "edges_of", "numbered"]
