"""Parts of a graph of about equal weight with few edges between them: grown breadth first, then refined."""
from __future__ import annotations

import heapq

import numpy as np

from ...._src.backend.arrays import Array

_SLACK, _ROUNDS = 1.03, 10


def parts(
    bounds: Array, columns: Array, count: int, node_weight: Array | None = None, edge_weight: Array | None = None
) -> Array:
    """Return the part of each node. A part grows by the node with most edges into it, and is full at its share of the weight; then nodes on
    borders move to the part with most of their edges, while no part exceeds its share by 3 %."""
    size = len(bounds) - 1
    weight = np.ones(size) if node_weight is None else node_weight.astype(np.float64)
    edges = np.ones(len(columns)) if edge_weight is None else edge_weight.astype(np.float64)
    part = _grown(bounds, columns, count, weight, edges)
    room = max(weight.sum() / max(count, 1) * _SLACK, weight.sum() / max(count, 1) + weight.max(initial=0))
    load = np.bincount(part, weight, count)
    for _ in range(_ROUNDS):
        moved = 0
        row = np.repeat(np.arange(size), np.diff(bounds))
        for node in np.unique(row[part[row] != part[columns]]):
            own = slice(bounds[node], bounds[node + 1])
            gains = np.bincount(part[columns[own]], edges[own], count)
            gains[load + weight[node] > room] = -1
            best = int(gains.argmax())
            here = part[node]
            if best != here and gains[best] > np.bincount(part[columns[own]], edges[own], count)[here]:
                load[here] -= weight[node]
                load[best] += weight[node]
                part[node] = best
                moved += 1
        if not moved:
            break
    return part


def _grown(bounds: Array, columns: Array, count: int, weight: Array, edges: Array) -> Array:
    """Return the part of each node as parts grow one after another, each beginning beside the one before.

    The heap holds the nodes next to the growing part by the weight of their edges into it. A node is pushed again when that grows, and its
    older entries, whose gain is less, are passed over.
    """
    size, left = len(bounds) - 1, float(weight.sum())
    part = np.full(size, -1, np.int64)
    starts = iter(np.argsort(np.diff(bounds), kind="stable"))  # from nodes with few edges: those of the rim
    border: list[tuple[float, int]] = []
    for number in range(count):
        share, load = left / (count - number), 0.0
        gain: dict[int, float] = {}
        heap = [(0.0, node) for _, node in border if part[node] < 0][:1]  # beside the part before
        border = []
        while load < share - 1e-9 * share or number == count - 1:
            node = -1
            while heap:
                negative, candidate = heapq.heappop(heap)
                if part[candidate] < 0 and -negative >= gain.get(candidate, 0.0):
                    node = candidate
                    break
            if node < 0:
                node = next((int(one) for one in starts if part[one] < 0), -1)
                if node < 0:
                    break
            if load and load + weight[node] / 2 > share and number < count - 1:
                border.append((0.0, node))
                break
            part[node], load = number, load + weight[node]
            for place in range(bounds[node], bounds[node + 1]):
                near = int(columns[place])
                if part[near] < 0:
                    gain[near] = gain.get(near, 0.0) + edges[place]
                    heapq.heappush(heap, (-gain[near], near))
        border += heap
        left -= load
    return np.where(part < 0, count - 1, part)


__all__ = ["parts"]
