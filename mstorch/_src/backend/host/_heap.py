"""Heapsort (J. W. J. Williams, "Heapsort", 1964; with R. W. Floyd's bottom-up variant, in which holes sink to the leaves first).

Introsort falls back to heapsort if its recursion gets too deep, and uses a heap to find the few largest of many elements.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array


def sink(keys: list[Any], items: list[Any], hole: int, count: int, key: Any, item: Any) -> None:
    """Sift an element into the max-heap of the first ``count``, below ``hole``."""
    top = child = hole
    while child < (count - 1) // 2:
        child = 2 * child + 2
        if keys[child] < keys[child - 1]:
            child -= 1
        keys[hole], items[hole] = keys[child], items[child]
        hole = child
    if count % 2 == 0 and child == (count - 2) // 2:
        child = 2 * child + 1
        keys[hole], items[hole] = keys[child], items[child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and keys[parent] < key:
        keys[hole], items[hole] = keys[parent], items[parent]
        hole = parent
        parent = (hole - 1) // 2
    keys[hole], items[hole] = key, item


def make_heap(keys: list[Any], items: list[Any]) -> None:
    """Rearrange the elements into a max-heap."""
    count = len(keys)
    for parent in range((count - 2) // 2, -1, -1):
        sink(keys, items, parent, count, keys[parent], items[parent])


def sort_heap(keys: list[Any], items: list[Any]) -> None:
    """Sort a max-heap in ascending order."""
    for last in range(len(keys) - 1, 0, -1):
        key, item = keys[last], items[last]
        keys[last], items[last] = keys[0], items[0]
        sink(keys, items, 0, last, key, item)


def sort_by_heap(ranks: Array, low: Array, first: int, last: int) -> None:
    """Heapsort a segment of ranks in place; ranks with equal ``low`` are ties."""
    items = ranks[first:last].tolist()
    keys = low[ranks[first:last]].tolist()
    make_heap(keys, items)
    sort_heap(keys, items)
    ranks[first:last] = items


def few_smallest(keys: Array, k: int) -> Array:
    """Return the indices of the ``k`` smallest elements of each row in ascending order, found by a heap."""
    found = np.empty((len(keys), k), np.int64)
    for row, into in zip(keys, found):
        heap, items = row[:k].tolist(), list(range(k))
        make_heap(heap, items)
        start, step = k, 256
        while start < len(row):
            part = row[start : start + step]
            spots = np.flatnonzero(part < heap[0])
            for spot, key in zip((spots + start).tolist(), part[spots].tolist()):
                if key < heap[0]:
                    sink(heap, items, 0, k, key, spot)
            start += step
            step = min(2 * step, 1 << 16)
        sort_heap(heap, items)
        into[:] = items
    return found


def select_by_heap(keys: Array, places: Array, nth: int) -> None:
    """Reorder a row in place like C++'s heap selection: its ``nth`` smallest element (from 0) is moved to position ``nth``. A max-heap
    holds the smallest nth + 1 elements seen so far; ``places`` is permuted in the same way."""
    rest, items = keys.tolist(), places.tolist()
    heap, inside = rest[: nth + 1], items[: nth + 1]
    make_heap(heap, inside)
    for spot in range(nth + 1, len(rest)):
        if rest[spot] < heap[0]:
            key, item = rest[spot], items[spot]
            rest[spot], items[spot] = heap[0], inside[0]
            sink(heap, inside, 0, nth + 1, key, item)
    heap[0], heap[nth], inside[0], inside[nth] = heap[nth], heap[0], inside[nth], inside[0]
    keys[:], places[:] = heap + rest[nth + 1 :], inside + items[nth + 1 :]
