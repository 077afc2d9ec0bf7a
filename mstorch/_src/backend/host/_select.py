"""Select the k smallest elements of each row, or the k-th, with torch's choice among equal elements.

torch uses the selections of C++: a heap if k is small (``_heap.py``), else introselect (Musser 1997), which applies Hoare's partition
(``_order.py``) to the part that contains the k-th element. ``torch.kthvalue`` uses a quickselect of its own (R. Sedgewick, "Implementing
Quicksort Programs", 1978). These algorithms move elements together with their indices, and so does this module.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ._few import FEW, select_few
from ._heap import few_smallest, select_by_heap
from ._order import Sides, equal_neighbours, exchange, partition_many, ranks_of, sort_rows

_NONE = np.empty(0, np.int64)
_BLOCK = 1 << 18  # number of elements of rows that are processed at once


def keys_of(rows: Array, descending: bool) -> Array:
    """Return integers that sort like the elements: one value for both zeros, and one, the largest, for all NaNs."""
    if rows.dtype.kind == "f":
        bits = np.dtype(f"i{rows.itemsize}")
        found = (rows + 0.0).view(bits)  # replaces -0.0 by 0.0
        largest = np.iinfo(bits).max
        found ^= (found >> (8 * rows.itemsize - 1)) & largest
        nan = np.isnan(rows)
        if nan.any():
            found[nan] = largest
        return np.invert(found, out=found) if descending else found
    return ~rows if descending else rows.copy()


def top_of_rows(rows: Array, k: int, descending: bool, in_order: bool) -> Array:
    """Return the indices of the ``k`` first elements of each row, sorted in torch's order or as torch's selection leaves them."""
    if not in_order and 64 * k > rows.shape[1]:
        return first_of_rows(rows, k, descending, False)
    found, tied = _first_untied(rows, k, descending)
    if len(tied):
        found[tied] = first_of_rows(rows[tied], k, descending, True)
    return found


def _first_untied(rows: Array, k: int, descending: bool) -> tuple[Array, Array]:
    """Return the indices of the first ``k`` elements of each row in order, and the numbers of the rows in which equal elements leave the
    order open."""
    count, width = rows.shape
    if width < 64 or 4 * k > width or (rows.dtype.kind == "f" and np.isnan(rows).any()):
        order = rows.argsort(-1, kind="stable" if rows.itemsize <= 2 else None)
        same = equal_neighbours(rows, order)
        found = order[:, : -k - 1 : -1] if descending else order[:, :k]
        if same is None:
            return found.astype(np.int64, "C"), _NONE
        return found.astype(np.int64, "C"), np.flatnonzero((same[:, -k:] if descending else same[:, :k]).any(-1))
    if (k + 1) * (rows.size + 130 * count + 13_000) < 33 * rows.size:  # the measured times of the two ways
        return _one_by_one(rows, k, descending)
    keys = rows if not descending else -rows if rows.dtype.kind == "f" else ~rows
    # The k-th element decides: elements that are not beyond it are selected, unless these are more than k.
    chosen = keys <= _kth(keys, k)
    more = np.count_nonzero(chosen, -1) != k
    if more.any():
        chosen[more], chosen[more, :k] = False, True
    places = np.flatnonzero(chosen).reshape(count, k)
    places -= np.arange(0, count * width, width)[:, None]
    values = np.take_along_axis(keys, places, -1)
    order = values.argsort(-1)
    values = np.take_along_axis(values, order, -1)
    tied = (values[:, 1:] == values[:, :-1]).any(-1) | more
    return np.take_along_axis(places, order, -1), np.flatnonzero(tied)


def _one_by_one(rows: Array, k: int, descending: bool) -> tuple[Array, Array]:
    """Return what ``_first_untied`` returns, for few elements of rows without NaN: the first, the first of the rest, …"""
    rest, lines = rows.copy(), np.arange(len(rows))
    find = rest.argmax if descending else rest.argmin
    if rows.dtype.kind == "f":
        last: Any = -np.inf if descending else np.inf
    else:
        last = np.iinfo(rows.dtype).min if descending else np.iinfo(rows.dtype).max
    places, values = np.empty((len(rows), k), np.int64), np.empty((len(rows), k + 1), rows.dtype)
    for number in range(k + 1):
        place = find(-1)
        values[:, number] = rest[lines, place]
        if number < k:
            places[:, number] = place
            rest[lines, place] = last
    return places, np.flatnonzero((values[:, 1:] == values[:, :-1]).any(-1))


_LONG = 1 << 13  # number of elements per row from which on a bound of the k-th is found first
_GROUP = 64


def _kth(keys: Array, k: int) -> Array:
    """Return the ``k``-th smallest element of each row as a column; no element is NaN.

    In a long row, the ``k``-th smallest of the minima of groups of 64 is not smaller; few elements are left below it."""
    width = keys.shape[1]
    groups = width // _GROUP
    if width < _LONG or 4 * k > groups:
        return np.partition(keys, k - 1, -1)[:, k - 1 : k]
    least = np.minimum.reduce(keys[:, : groups * _GROUP].reshape(-1, _GROUP, groups), axis=1)
    bounds = np.partition(least, k - 1, -1)[:, k - 1]
    return np.array([np.partition(row[row <= bound], k - 1)[k - 1 : k] for row, bound in zip(keys, bounds)], keys.dtype)


def first_of_rows(rows: Array, k: int, descending: bool, in_order: bool) -> Array:
    """Return the indices of the ``k`` first elements of each row, replaying torch's selection."""
    count, width = rows.shape
    if rows.size <= FEW and 64 * k > width:
        order = rows.argsort(-1)
        same = equal_neighbours(rows, order)
        if same is None:
            same = np.zeros((count, width - 1), np.bool_)
        if descending:
            order, same = order[:, ::-1], same[:, ::-1]
        few = select_few(ranks_of(order, same), k, in_order)
        if few is not None:
            return few
    found = np.empty((count, k), np.int64)
    step = max(1, _BLOCK // width)
    for start in range(0, count, step):
        keys = keys_of(rows[start : start + step], descending)
        if 64 * k <= width:
            found[start : start + step] = few_smallest(keys, k)
            continue
        places = np.broadcast_to(np.arange(width), keys.shape).copy()
        select(keys, places, k - 1)
        if in_order and k > 2:
            order = sort_rows(np.ascontiguousarray(keys[:, : k - 1]), False)
            places[:, : k - 1] = np.take_along_axis(places[:, : k - 1], order, -1)
        found[start : start + step] = places[:, :k]
    return found


def select(keys: Array, places: Array, nth: int) -> None:
    """Partition each row around its ``nth`` element: elements before it are not larger, elements after it not smaller."""
    count, width = keys.shape
    flat, beside = keys.reshape(-1), places.reshape(-1)
    first = np.arange(0, count * width, width)
    last, wanted = first + width, first + nth
    depth = 2 * (width.bit_length() - 1)
    while True:
        length = last - first
        if (ended := length <= 3).any():
            for size in (2, 3):
                some = first[length == size]
                if len(some):
                    spots = some[:, None] + np.arange(size)
                    order = np.take_along_axis(spots, flat[spots].argsort(-1, kind="stable"), -1)
                    flat[spots], beside[spots] = flat[order], beside[order]
            going = ~ended
            first, last, wanted, length = first[going], last[going], wanted[going], length[going]
        if not len(first):
            return
        if not depth:
            for start, end, target in zip(first.tolist(), last.tolist(), wanted.tolist()):
                select_by_heap(flat[start:end], beside[start:end], target - start)
            return
        depth -= 1
        cut = partition_many(flat, None, first, last, length, beside)
        right = cut <= wanted
        first, last = np.where(right, cut, first), np.where(right, last, cut)


def first_selected(count: int) -> int:
    """Return the index that torch's selection of the smallest element returns if all ``count`` elements are equal."""
    order = np.arange(count)
    while count > 3:
        middle = count // 2
        order[0], order[middle] = order[middle], order[0]
        order[1:count] = order[1:count][::-1].copy()
        count = 1 + (count - 1) // 2
    return int(order[0])


def kth_of_rows(rows: Array, k: int) -> Array:
    """Return the index of the ``k``-th smallest element of each row (``k`` counts from 0); among equal elements, torch's choice."""
    equal = rows == np.partition(rows, k, -1)[:, k : k + 1]
    found = equal.argmax(-1)
    chosen = np.flatnonzero(np.count_nonzero(equal, -1) != 1)  # NaN equals nothing
    if len(chosen):
        found[chosen] = _kth_of_tied(rows[chosen], k)
    return found


def _kth_of_tied(rows: Array, k: int) -> Array:
    count, width = rows.shape
    found = np.empty(count, np.int64)
    step = max(1, _BLOCK // width)
    for start in range(0, count, step):
        keys = keys_of(rows[start : start + step], False)
        places = np.broadcast_to(np.arange(width), keys.shape).copy()
        _quickselect(keys, places, k)
        found[start : start + step] = places[:, k]
    return found


def _quickselect(keys: Array, places: Array, k: int) -> None:
    """Reorder each row of keys, and its places alike, until its ``k``-th key is the one that a sorted row has there.

    All rows take their steps together, each the swaps of torch's quickselect with the median of three, so that equal keys end in torch's
    order. ``low`` and ``high`` are the ends of what is left of the rows that have not ended, as positions in the flat arrays.
    """
    count, width = keys.shape
    arrays = keys.reshape(-1), places.reshape(-1)
    flat = arrays[0]
    low = np.arange(0, count * width, width)
    high, wanted = low + width - 1, low + k

    def swap(here: Array, there: Array) -> None:
        for array in arrays:
            exchange(array, here, there)

    def put_in_order(here: Array, there: Array) -> None:
        wrong = flat[here] > flat[there]
        swap(here[wrong], there[wrong])

    while True:
        two = high == low + 1
        put_in_order(low[two], high[two])
        going = high > low + 1
        low, high, wanted = low[going], high[going], wanted[going]
        if not len(low):
            return
        swap(low + (high - low) // 2, low + 1)
        put_in_order(low + 1, high)
        put_in_order(low, high)
        put_in_order(low + 1, low)
        pivot = flat[low]
        sides = Sides(flat, low + 2, high, pivot, pivot)
        pairs, here, there = sides.pairs(True)
        swap(here, there)
        # Positions where the two scans stop after the last swap; a scan that meets itself leaves nothing between them.
        final_left, final_right = sides.left_at(pairs - 1, low + 1), sides.right_at(pairs - 1, high)
        met = (pairs > 0) & (final_left == final_right)
        i = np.where(met, final_right + 1, np.minimum(sides.left_at(pairs, high), final_right))
        j = np.where(met, final_left - 1, np.maximum(sides.right_at(pairs, low + 1), final_left))
        swap(low, j)
        low, high = np.where(j <= wanted, i, low), np.where(j >= wanted, j - 1, high)
