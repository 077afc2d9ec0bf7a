"""The largest elements of a row in the order of torch's CPU top-k, including ties.

torch selects the elements by ``std::partial_sort`` if 64 times their number is at most the row's length, else by ``std::nth_element`` and
``std::sort``. The C++ standard leaves the order of equal elements open; this reproduces GNU's libstdc++, which torch's Linux builds use:
heap selection, introselect (D. R. Musser, Introspective Sorting and Selection Algorithms, 1997) around the median of three, insertion sort
for runs of up to 16.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_RUN = 16  # the length up to which std::sort leaves a run to insertion sort
Item = tuple[float, int]


def largest(scores: NDArray[np.floating[Any]], count: int) -> NDArray[np.int64]:
    """Return indices of the ``count`` largest elements of each row in descending order; ties in torch's order."""
    found = np.argsort(-scores, -1, kind="stable")[:, :count]
    least = np.take_along_axis(scores, found[:, -1:], -1)
    for row, (values, bound) in enumerate(zip(scores, least[:, 0])):
        chosen = values[values >= bound]
        if np.unique(chosen).size < chosen.size:
            found[row] = _top(values.tolist(), count)
    return found


def _top(values: list[float], count: int) -> list[int]:
    queue = [(value, index) for index, value in enumerate(values)]
    if count * 64 <= len(queue):
        _partial_sort(queue, 0, count, len(queue))
    else:
        _nth_element(queue, count - 1)
        _sort(queue, 0, count - 1)
    return [index for _, index in queue[:count]]


def _before(first: Item, second: Item) -> bool:
    return first[0] > second[0]


def _sift(a: list[Item], first: int, hole: int, length: int, value: Item) -> None:
    """Insert ``value`` into a heap with a free position ``hole``: the hole sinks to a leaf, from which the value rises."""
    top = child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if _before(a[first + child], a[first + child - 1]):
            child -= 1
        a[first + hole] = a[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * (child + 1)
        a[first + hole] = a[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and _before(a[first + parent], value):
        a[first + hole] = a[first + parent]
        hole, parent = parent, (parent - 1) // 2
    a[first + hole] = value


def _heap_select(a: list[Item], first: int, middle: int, last: int) -> None:
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        _sift(a, first, parent, length, a[first + parent])
    for i in range(middle, last):
        if _before(a[i], a[first]):
            value, a[i] = a[i], a[first]
            _sift(a, first, 0, length, value)


def _partial_sort(a: list[Item], first: int, middle: int, last: int) -> None:
    _heap_select(a, first, middle, last)
    for end in range(middle - 1, first, -1):
        value, a[end] = a[end], a[first]
        _sift(a, first, 0, end - first, value)


def _partition(a: list[Item], first: int, last: int) -> int:
    """Partition around the median of three, which is swapped to the front; return the start of the second part."""
    one, two, three = first + 1, first + (last - first) // 2, last - 1
    if _before(a[one], a[two]):
        middle = two if _before(a[two], a[three]) else three if _before(a[one], a[three]) else one
    else:
        middle = one if _before(a[one], a[three]) else three if _before(a[two], a[three]) else two
    a[first], a[middle] = a[middle], a[first]
    pivot, low, high = a[first], first + 1, last
    while True:
        while _before(a[low], pivot):
            low += 1
        high -= 1
        while _before(pivot, a[high]):
            high -= 1
        if low >= high:
            return low
        a[low], a[high] = a[high], a[low]
        low += 1


def _insert(a: list[Item], stop: int, i: int) -> None:
    value = a[i]
    while i > stop and _before(value, a[i - 1]):
        a[i] = a[i - 1]
        i -= 1
    a[i] = value


def _insertion_sort(a: list[Item], first: int, last: int) -> None:
    for i in range(first + 1, last):
        _insert(a, first, i)


def _nth_element(a: list[Item], nth: int) -> None:
    first, last = 0, len(a)
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            _heap_select(a, first, nth + 1, last)
            a[first], a[nth] = a[nth], a[first]
            return
        depth -= 1
        cut = _partition(a, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(a, first, last)


def _sort(a: list[Item], first: int, last: int) -> None:
    def loop(first: int, last: int, depth: int) -> None:
        while last - first > _RUN:
            if depth == 0:
                _partial_sort(a, first, last, last)
                return
            depth -= 1
            cut = _partition(a, first, last)
            loop(cut, last, depth)
            last = cut

    if last > first:
        loop(first, last, 2 * ((last - first).bit_length() - 1))
        _insertion_sort(a, first, last)
