"""The order of equal elements under an unstable sort.

torch sorts by its C++ library's introsort (D. R. Musser, "Introspective Sorting and Selection Algorithms", 1997) with C. A. R. Hoare's
partition ("Quicksort", 1962). The order of equal elements is visible in indices, so it is reproduced here, with vectorized comparisons.
Ranks are compared: unique integers, consecutive within each group of equal elements, with two tables of the first and last rank of each
group. One implementation thus serves all dtypes, both directions and NaN.

Hoare's partition of a segment swaps the k-th element from the left that is not less than the pivot with the k-th from the right that is not
greater, as long as the first is to the left of the second. All these pairs are known at once, also across segments: a level of the
recursion takes a few passes. Segments without equal elements are skipped, because their order is determined.
"""
from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arrays import Array
from ._few import FEW, median_of_three, sort_few
from ._heap import sort_by_heap

SHORT = 16  # segments up to this length are left to an insertion sort, which is stable
_LONG = 8192  # longer segments are partitioned one by one
_DIGITS = 1 << 16  # rows up to this length have 16-bit ranks, which NumPy sorts by radix sort
_BLOCK = 1 << 17  # elements of short segments that are processed at once: their arrays fit the cache


class Ranks:
    """Groups of equal elements. For each rank, ``low`` and ``high`` are the first and the last rank of its group, and ``equal`` is the
    number of ranks up to this one whose element equals that of the rank before."""

    __slots__ = ("low", "high", "equal")

    def __init__(self, same: Array) -> None:
        """Set the groups; ``same`` is True for each rank whose element equals that of the rank before."""
        count = len(same)
        kind = np.int32 if count < 2**31 else np.int64
        self.equal: Array = np.cumsum(same, dtype=kind)
        places: Array = np.arange(count, dtype=kind)
        group = places - self.equal  # numbers the groups; a group's first rank is the position of its first element
        starts = np.flatnonzero(~same).astype(kind)
        self.low = starts[group]
        ends = np.empty_like(starts)
        np.subtract(starts[1:], 1, out=ends[:-1])
        ends[-1:] = count - 1
        self.high = ends[group]


def arrange(ranks: Array, groups: Ranks, width: int) -> None:
    """Rearrange rows of ``width`` ranks in place into the order in which introsort leaves them for its insertion sort."""
    total = len(ranks)
    starts = np.arange(0, total, width)
    depth = 2 * (width.bit_length() - 1)
    short = [(starts, starts + width, np.full(len(starts), depth))] if width <= _LONG else []
    if width > _LONG:
        found: list[tuple[int, int, int]] = []
        for start in starts.tolist():
            _arrange_long(ranks, groups, start, start + width, depth, found)
        if found:
            table = np.array(found, np.int64)
            filled = np.cumsum(table[:, 1] - table[:, 0]) // _BLOCK
            cuts = np.flatnonzero(filled[1:] != filled[:-1]) + 1
            short = [(part[:, 0], part[:, 1], part[:, 2]) for part in np.split(table, cuts)]
    for first, last, left in short:
        while len(first):
            first, last, left = _level(ranks, groups, first, last, left)


def _arrange_long(
    ranks: Array, groups: Ranks, first: int, last: int, depth: int, short: list[tuple[int, int, int]]
) -> None:
    """Partition one row until all segments are short, and append these segments to ``found``."""
    waiting = [(first, last, depth)]
    equal = groups.equal
    while waiting:
        first, last, depth = waiting.pop()
        count = last - first
        ties = int(equal[last - 1]) - int(equal[first]) if count > SHORT else 0
        if not ties:
            continue
        if count <= _LONG:
            short.append((first, last, depth))
        elif ties == count - 1 and depth >= count.bit_length():
            ranks[first:last] = ranks[first:last][_of_equal(count)]
        elif not depth:
            sort_by_heap(ranks, groups.low, first, last)
        else:
            cut = _partition(ranks, groups, first, last)
            waiting += ((first, cut, depth - 1), (cut, last, depth - 1))


def _partition(ranks: Array, groups: Ranks, first: int, last: int) -> int:
    """Partition one segment around the median of three; return the start of the second part."""
    spots = (first + 1, first + (last - first) // 2, last - 1)
    a, b, c = (int(groups.low[ranks[spot]]) for spot in spots)
    spot = spots[median_of_three(a, b, c)]
    pivot, ranks[spot] = ranks[spot], ranks[first]
    ranks[first] = pivot
    rest = ranks[first + 1 : last]
    left = np.flatnonzero(rest >= groups.low[pivot])
    right = np.flatnonzero(rest <= groups.high[pivot])[::-1]
    both = min(len(left), len(right))
    pairs = int(np.count_nonzero(left[:both] < right[:both]))
    cut = int(left[pairs]) if pairs < len(left) else last
    if pairs:
        cut = min(cut, int(right[pairs - 1]))
        here, there = left[:pairs], right[:pairs]
        kept = rest[here]
        rest[here] = rest[there]
        rest[there] = kept
    return first + 1 + cut


def _level(ranks: Array, groups: Ranks, first: Array, last: Array, depth: Array) -> tuple[Array, Array, Array]:
    """Partition each segment that is long enough; return the resulting segments."""
    count = last - first
    ties = groups.equal[last - 1] - groups.equal[first]
    open_ = (count > SHORT) & (ties > 0)
    alike = open_ & (ties == count - 1) & (count >> depth == 0)  # halving needs no more depth than this
    if alike.any():
        _arrange_equal(ranks, first[alike], count[alike])
        open_ &= ~alike
    ended = open_ & (depth == 0)
    if ended.any():
        for start, end in zip(first[ended].tolist(), last[ended].tolist()):
            sort_by_heap(ranks, groups.low, start, end)
        open_ &= ~ended
    if not open_.all():
        first, last, depth, count = first[open_], last[open_], depth[open_], count[open_]
        if not len(first):
            return first, last, depth
    cut = partition_many(ranks, groups, first, last, count)
    parts = np.empty(2 * len(first), np.int64), np.empty(2 * len(first), np.int64)
    parts[0][::2], parts[0][1::2] = first, cut
    parts[1][::2], parts[1][1::2] = cut, last
    return parts[0], parts[1], np.repeat(depth - 1, 2)


def partition_many(
    ranks: Array, groups: Ranks | None, first: Array, last: Array, count: Array, beside: Array | None = None
) -> Array:
    """Partition disjoint segments, in ascending order, each around its median of three. Return the start of each segment's second part.

    ``groups``: maps ranks to the range of ranks of equal elements; if None, the ranks themselves are compared. ``beside``: an array to
    permute in the same way."""
    middle, end = first + count // 2, last - 1
    a, b, c = ranks[first + 1], ranks[middle], ranks[end]
    if groups is not None:
        a, b, c = groups.low[a], groups.low[b], groups.low[c]
    ab, bc, ac = a < b, b < c, a < c
    spot = np.where(ab, np.where(bc, middle, np.where(ac, end, first + 1)), np.where(ac, first + 1, np.where(bc, end, middle)))
    exchange(ranks, first, spot)
    if beside is not None:
        exchange(beside, first, spot)
    pivot = ranks[first]
    low, high = (pivot, pivot) if groups is None else (groups.low[pivot], groups.high[pivot])
    sides = Sides(ranks, first + 1, last, low, high)
    pairs, here, there = sides.pairs(False)
    exchange(ranks, here, there)
    if beside is not None:
        exchange(beside, here, there)
    return np.minimum(sides.left_at(pairs, last), np.where(pairs > 0, sides.right_at(pairs - 1, last), last))


def exchange(array: Array, here: Array, there: Array) -> None:
    """Swap the elements at two lists of positions."""
    kept = array[here]
    array[here] = array[there]
    array[there] = kept


class Sides:
    """For each segment, the positions of its elements that are at least ``low``, ascending, and of those that are at most ``high``,
    descending: the elements that Hoare's partition swaps."""

    __slots__ = ("left", "left_from", "lefts", "right", "right_end", "rights", "shift", "count")

    def __init__(self, array: Array, first: Array, last: Array, low: Array, high: Array) -> None:
        self.count = count = last - first
        edges = np.empty(len(first) + 1, np.int64)
        edges[0] = 0
        np.cumsum(count, out=edges[1:])
        # The concatenated segments, and each one's distance from its position in the array.
        whole = int(edges[-1])
        self.shift = shift = first - edges[:-1]
        if len(first) == 1:
            row = array[first[0] : last[0]]
            after, before = row >= low, row <= high
        else:
            places = np.arange(whole)
            places += np.repeat(shift, count)
            row = array[places]
            after = row >= np.repeat(low, count)
            before = row <= np.repeat(high, count)
        self.left, self.right = np.flatnonzero(after), np.flatnonzero(before)
        found = np.searchsorted(self.left, edges)
        self.left_from, self.lefts = found[:-1], found[1:] - found[:-1]
        found = np.searchsorted(self.right, edges)
        self.right_end, self.rights = found[1:] - 1, found[1:] - found[:-1]

    def pairs(self, meeting: bool) -> tuple[Array, Array, Array]:
        """Return the number of pairs to swap in each segment, and the left and right positions of all pairs. In a pair the left position is
        less than the right one or, with ``meeting``, at most equal to it."""
        few, many = np.zeros(len(self.lefts), np.int64), np.minimum(self.lefts, self.rights)
        # They come first, so that their number is found by bisection.
        for _ in range(int(many.max()).bit_length() if len(many) else 0):
            half = (few + many) >> 1
            inside = half < many
            half[~inside] = 0
            a, b = self.left.take(self.left_from + half, mode="clip"), self.right.take(self.right_end - half, mode="clip")
            good = inside & ((a <= b) if meeting else (a < b))
            few = np.where(good, half + 1, few)
            many = np.where(inside & ~good, half, many)
        before = np.cumsum(few) - few
        order = np.arange(int(few.sum()))
        here = self.left[np.repeat(self.left_from - before, few) + order]
        there = self.right[np.repeat(self.right_end + before, few) - order]
        shift = np.repeat(self.shift, few)
        return few, here + shift, there + shift

    def left_at(self, which: Array, beyond: Array) -> Array:
        """Return for each segment its left position number ``which``; ``beyond`` if the segment has fewer."""
        if not len(self.left):
            return beyond
        found = self.left.take(self.left_from + which, mode="clip") + self.shift
        return np.where((which >= 0) & (which < self.lefts), found, beyond)

    def right_at(self, which: Array, beyond: Array) -> Array:
        """Return for each segment its right position number ``which``; ``beyond`` if the segment has fewer."""
        if not len(self.right):
            return beyond
        found = self.right.take(self.right_end - which, mode="clip") + self.shift
        return np.where((which >= 0) & (which < self.rights), found, beyond)


def _arrange_equal(ranks: Array, first: Array, count: Array) -> None:
    """Arrange segments of equal elements as quicksort leaves them; their permutation depends only on their length."""
    lengths, kind = np.unique(count, return_inverse=True)
    moves = np.concatenate([_of_equal(int(length)) for length in lengths])
    begins = np.cumsum(lengths) - lengths
    order = np.arange(int(count.sum()))
    order -= np.repeat(np.cumsum(count) - count, count)
    bases = np.repeat(first, count)
    ranks[bases + order] = ranks[bases + moves[np.repeat(begins[kind], count) + order]]


def _of_equal(count: int) -> Array:
    """Return the order in which quicksort leaves ``count`` equal elements: at each level it swaps the pivot with the middle element,
    reverses the other elements, and recurses into both halves.
    """
    return _of_equal_kept(count) if count <= _LONG else _of_equal_made(count)


def _of_equal_made(count: int) -> Array:
    order = np.arange(count)
    if count > SHORT:
        order[0], order[count // 2] = count // 2, 0
        order[1:] = order[:0:-1].copy()
        cut = 1 + (count - 1) // 2
        order[:cut] = order[:cut][_of_equal(cut)]
        order[cut:] = order[cut:][_of_equal(count - cut)]
    return order


_of_equal_kept = lru_cache(maxsize=1024)(_of_equal_made)


def sort_rows(rows: Array, descending: bool) -> Array:
    """Return the indices that sort each row of a row-major matrix, with equal elements in the order in which introsort leaves them."""
    count, width = rows.shape
    if width <= SHORT:
        return stable_order(rows, -1, descending)
    order = rows.argsort(-1, kind="stable" if rows.itemsize <= 2 else None)
    same = equal_neighbours(rows, order)
    if same is None:
        return np.ascontiguousarray(order[:, ::-1]) if descending else order
    tied = np.flatnonzero(same.any(1))
    if descending:
        order, same = np.ascontiguousarray(order[:, ::-1]), same[:, ::-1]
    step = max(1, _BLOCK // width)
    for start in range(0, len(tied), step):
        some = tied[start : start + step]
        order[some] = _settled(order[some], same[some])
    return order


def equal_neighbours(rows: Array, order: Array) -> Array | None:
    """Return a mask (rows, length - 1): True where an element equals the next one in the sorted row. Return None if no elements are equal.
    """
    flat = order if len(rows) == 1 else order + np.arange(0, rows.size, rows.shape[1])[:, None]
    values = rows.reshape(-1).take(flat)
    same = values[:, 1:] == values[:, :-1]
    if rows.dtype.kind == "f":
        last = values[:, -1]
        if (last != last).any():  # NaN
            nan = np.isnan(values)
            same |= nan[:, 1:] & nan[:, :-1]
    return same if same.any() else None


def _settled(order: Array, same: Array) -> Array:
    """Return the sort order with equal elements rearranged into the order in which introsort leaves them; ``same`` is ``equal_neighbours``.
    """
    count, width = order.shape
    if order.size <= FEW:
        found = sort_few(ranks_of(order, same))
        if found is not None:
            return found
    flags = np.zeros((count, width), np.bool_)
    flags[:, 1:] = same
    flags = flags.reshape(-1)
    groups = Ranks(flags)
    kind = groups.low.dtype
    offsets = np.arange(0, count * width, width)[:, None]
    source = (order + offsets).reshape(-1)
    ranks = np.empty(len(source), kind)
    ranks[source] = np.arange(len(source), dtype=kind)
    arrange(ranks, groups, width)
    if width <= _DIGITS and np.count_nonzero(flags) > len(flags) >> 1:
        ranks = ranks.reshape(count, width)
        keys = (groups.low[ranks] - offsets.astype(kind)).astype(np.uint8 if width <= 256 else np.uint16)
        return source[np.take_along_axis(ranks, keys.argsort(-1, kind="stable"), -1)] - offsets
    return _in_order_of(ranks, groups, source, flags).reshape(count, width) - offsets


def ranks_of(order: Array, same: Array) -> Array:
    """Return the rank of each element of rows; equal elements have the same rank."""
    ranks = np.zeros(order.shape, np.int64)
    np.put_along_axis(ranks, order[:, 1:], np.cumsum(~same, -1), -1)
    return ranks


def _in_order_of(ranks: Array, groups: Ranks, source: Array, flags: Array) -> Array:
    """Return ``source`` (elements by rank) with the elements of each group in the order in which ``ranks`` has them, which the insertion
    sort keeps because it is stable."""
    tied = flags.copy()
    tied[:-1] |= flags[1:]
    members = np.flatnonzero(tied)
    places = np.empty_like(ranks)
    places[ranks] = np.arange(len(ranks), dtype=ranks.dtype)
    keys = groups.low[members].astype(np.int64)
    keys *= len(ranks)
    keys += places[members]
    keys.sort()
    keys %= len(ranks)
    found = source.copy()
    found[members] = source[ranks[keys]]
    return found


def stable_order(x: Array, dim: int, descending: bool) -> Array:
    """Return the indices of a stable sort along a dimension."""
    if descending:
        # Sorting the reversed sequence and reversing the result keeps equal elements in order.
        backward = (*[slice(None)] * (dim % x.ndim), slice(None, None, -1))
        return np.subtract(x.shape[dim] - 1, x[backward].argsort(dim, kind="stable")[backward])
    return x.argsort(dim, kind="stable")
