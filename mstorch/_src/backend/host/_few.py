"""Introsort and introselect in Python, for few elements: vectorized passes (``_order.py``) would take longer.

Rank and position are packed into one integer, so that the lists to sort contain single integers."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ._heap import make_heap, sort_heap

FEW = 4096
_BITS = 20
_SHORT = 16


def sort_few(ranks: Array) -> Array | None:
    """Return the indices that sort rows of ranks; None if the recursion becomes too deep."""
    rows = _numbered(ranks)
    return _places(rows) if all(_sort(row, len(row)) for row in rows) else None


def select_few(ranks: Array, k: int, in_order: bool) -> Array | None:
    """Return the indices of the ``k`` smallest ranks of rows, as selected or sorted; None if the recursion becomes too deep."""
    rows = _numbered(ranks)
    if not all(_select(row, k - 1) and (not in_order or _sort(row, k - 1)) for row in rows):
        return None
    return _places([row[:k] for row in rows])


def _numbered(ranks: Array) -> list[list[int]]:
    return ((ranks << _BITS) + np.arange(ranks.shape[1])).tolist()


def _places(rows: list[list[int]]) -> Array:
    return np.array(rows, np.int64) & ((1 << _BITS) - 1)


def _rank_of(item: int) -> int:
    return item >> _BITS


def median_of_three(a: Any, b: Any, c: Any) -> int:
    """Return the position of the median of three; ties are resolved by the comparisons a<b, b<c, a<c."""
    if a < b:
        return 1 if b < c else 2 if a < c else 0
    return 0 if a < c else 2 if b < c else 1


def _partition(items: list[int], first: int, last: int) -> int:
    """Partition a range around the median of three; return the start of the second part."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    chosen = (a, b, c)[median_of_three(items[a] >> _BITS, items[b] >> _BITS, items[c] >> _BITS)]
    items[first], items[chosen] = items[chosen], items[first]
    low = items[first] >> _BITS << _BITS
    high = low + (1 << _BITS)
    i, j = first + 1, last - 1
    while True:
        while items[i] < low:
            i += 1
        while items[j] >= high:
            j -= 1
        if i >= j:
            return i
        items[i], items[j] = items[j], items[i]
        i, j = i + 1, j - 1


def _sort(items: list[int], count: int) -> bool:
    """Sort the first ``count``; return False if the recursion becomes too deep."""
    ranges = [(0, count, 2 * (max(count, 1).bit_length() - 1))]
    while ranges:
        first, last, depth = ranges.pop()
        while last - first > _SHORT:
            if not depth:
                return False
            depth -= 1
            cut = _partition(items, first, last)
            ranges.append((cut, last, depth))
            last = cut
    items[:count] = sorted(items[:count], key=_rank_of)
    return True


def _select(items: list[int], nth: int) -> bool:
    """Move the ``nth`` smallest element to its sorted position; return False if the recursion becomes too deep."""
    first, last, depth = 0, len(items), 2 * (len(items).bit_length() - 1)
    while last - first > 3:
        if not depth:
            return False
        depth -= 1
        cut = _partition(items, first, last)
        first, last = (cut, last) if cut <= nth else (first, cut)
    items[first:last] = sorted(items[first:last], key=_rank_of)
    return True


def sort_loosely(values: list[float]) -> list[int]:
    """Return the indices by which C++'s ``std::sort``, which torch calls, orders a list with ``<``, which is False beside a NaN. Such a
    list has no sorted order, so that the result depends on which elements are compared: each comparison is made as there.
    """
    items = list(range(len(values)))
    keys = list(values)

    def move(here: int, there: int) -> None:
        keys[here], keys[there] = keys[there], keys[here]
        items[here], items[there] = items[there], items[here]

    ranges = [(0, len(keys), 2 * (max(len(keys), 1).bit_length() - 1))]
    while ranges:
        first, last, depth = ranges.pop()
        while last - first > _SHORT:
            if not depth:
                heap, inside = keys[first:last], items[first:last]
                make_heap(heap, inside)
                sort_heap(heap, inside)
                keys[first:last], items[first:last] = heap, inside
                break
            depth -= 1
            a, b, c = first + 1, first + (last - first) // 2, last - 1
            move(first, (a, b, c)[median_of_three(keys[a], keys[b], keys[c])])
            pivot, i, j = keys[first], first + 1, last - 1
            while True:
                while i < last and keys[i] < pivot:
                    i += 1
                while pivot < keys[j]:
                    j -= 1
                if i >= j:
                    break
                move(i, j)
                i, j = i + 1, j - 1
            ranges.append((i, last, depth))
            last = i
    # Insertion sort: an element smaller than all goes to the front at once, others pass larger elements.
    for place in range(1, len(keys)):
        key, item, to = keys[place], items[place], place
        if place < _SHORT and key < keys[0]:
            to = 0
        else:
            while to and key < keys[to - 1]:
                to -= 1
        keys[to + 1 : place + 1], keys[to] = keys[to:place], key
        items[to + 1 : place + 1], items[to] = items[to:place], item
    return items
