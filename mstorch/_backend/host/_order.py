"""The order among equal elements, as the algorithms that torch sorts and selects with leave it.

``std::sort`` is introspective sorting (D. R. Musser, Introspective sorting and selection algorithms, 1997): partitions about the
median of three (C. A. R. Hoare, Quicksort, 1962) down to sixteen elements, a heap where they go too deep, an insertion sort at the
end; ``std::nth_element`` partitions only where the element lies; ``std::partial_sort`` keeps the first ones in a heap. None of them
is stable, but what they do depends on nothing but comparisons: ranks (equal elements have one rank) are all that they need here.

One partition moves pairs: the places of elements not below the pivot, counted from the left, and of those not above it, counted from
the right, as long as the former lie left of the latter. That makes a step of many segments a few passes over arrays.
"""
from __future__ import annotations

import numpy as np

_SHORT = 16  # segments up to here are left to the insertion sort
_LONG = 2048  # from here on a segment has passes of its own
_FEW, _BITS = 512, 20  # so many elements are not worth passes over arrays
_FAR = np.iinfo(np.int32).max


class _Arrangement:
    """Ranks in rows and where they came from, one after the other, which partitions move together."""

    def __init__(self, ranks: np.ndarray) -> None:
        self.rows, self.length = ranks.shape
        self.rank = np.array(ranks, np.int32, order="C").reshape(-1)
        self.place = np.tile(np.arange(self.length, dtype=np.int32), self.rows)
        self.starts = np.arange(self.rows, dtype=np.int64) * self.length

    def swap(self, first: np.ndarray, second: np.ndarray) -> None:
        for array in (self.rank, self.place):
            array[first], array[second] = array[second], array[first]

    def places(self) -> np.ndarray:
        """Where the elements of each row came from."""
        return self.place.reshape(self.rows, self.length)

    def insert(self, first: int, last: int) -> None:
        """Sort a range, equal elements in the order in which they lie: an insertion sort."""
        order = first + self.rank[first:last].argsort(kind="stable")
        for array in (self.rank, self.place):
            array[first:last] = array[order]


def _partition_one(these: _Arrangement, first: int, last: int) -> int:
    """Partition a segment about the median of three; gives where the second part begins."""
    rank = these.rank
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = rank[a], rank[b], rank[c]
    chosen = (b if y < z else c if x < z else a) if x < y else (a if x < z else c if y < z else b)
    these.swap(np.array([first]), np.array([chosen]))
    part = rank[first + 1 : last]
    left, right = np.flatnonzero(part >= rank[first]), np.flatnonzero(part <= rank[first])[::-1]
    pairs = min(len(left), len(right))
    count = int(np.count_nonzero(left[:pairs] < right[:pairs]))
    these.swap(left[:count] + (first + 1), right[:count] + (first + 1))
    return first + 1 + min(int(left[count]) if count < len(left) else last, int(right[count - 1]) if count else last)


def _partition_many(these: _Arrangement, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Partition segments of four elements and more, each about the median of three; gives where their second parts begin."""
    rank = these.rank
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = rank[a], rank[b], rank[c]
    these.swap(first, np.where(x < y, np.where(y < z, b, np.where(x < z, c, a)), np.where(x < z, a, np.where(y < z, c, b))))
    lengths = last - first - 1
    ends = np.cumsum(lengths)
    starts = ends - lengths
    places = np.arange(ends[-1]) + np.repeat(first + 1 - starts, lengths)
    inside, pivots = rank[places], np.repeat(rank[first], lengths)
    not_below, not_above = inside >= pivots, inside <= pivots
    left, right = places[not_below], places[not_above]
    # The pivot is a median: each segment has elements of both kinds.
    lefts, rights = (np.add.reduceat(kind, starts, dtype=np.int64) for kind in (not_below, not_above))
    from_left, from_right = np.cumsum(lefts) - lefts, np.cumsum(rights) - 1
    pairs = np.minimum(lefts, rights)
    begins = np.cumsum(pairs) - pairs
    step = np.arange(pairs.sum())
    low, high = left[step + np.repeat(from_left - begins, pairs)], right[np.repeat(from_right + begins, pairs) - step]
    crossing = low < high
    count = np.add.reduceat(crossing, begins, dtype=np.int64)
    these.swap(low[crossing], high[crossing])
    more = np.where(count < lefts, left[np.minimum(from_left + count, len(left) - 1)], _FAR)
    moved = np.where(count > 0, right[from_right - np.maximum(count - 1, 0)], _FAR)
    return np.minimum(more, moved)


def _partition(these: _Arrangement, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    long = last - first > _LONG
    cuts = np.empty_like(first)
    for segment in np.flatnonzero(long):
        cuts[segment] = _partition_one(these, int(first[segment]), int(last[segment]))
    if not long.all():
        cuts[~long] = _partition_many(these, first[~long], last[~long])
    return cuts


def _sift(heap: list[tuple[int, int]], hole: int, length: int, item: tuple[int, int]) -> None:
    """Put an item into a heap, greatest first, from which the one at ``hole`` was taken: down to a leaf, and up again."""
    top, child = hole, hole
    while child < (length - 1) // 2:
        child = 2 * child + 2
        child -= heap[child][0] < heap[child - 1][0]
        heap[hole], hole = heap[child], child
    if not length & 1 and child == (length - 2) // 2:
        heap[hole], hole = heap[2 * child + 1], 2 * child + 1
    while hole > top and heap[(hole - 1) // 2][0] < item[0]:
        heap[hole], hole = heap[(hole - 1) // 2], (hole - 1) // 2
    heap[hole] = item


def _select_in_heap(these: _Arrangement, first: int, middle: int, last: int, sort: bool) -> None:
    """Bring the least elements of a range to its front, as a heap, or in order."""
    length = middle - first
    heap = list(zip(these.rank[first:middle].tolist(), these.place[first:middle].tolist()))
    for hole in range(length // 2 - 1, -1, -1):
        _sift(heap, hole, length, heap[hole])
    place, block = middle, max(length, 64)
    while place < last:
        # Few of a block are below the greatest that was kept before it; what leaves the heap takes their places.
        for found in (place + np.flatnonzero(these.rank[place : place + block][: last - place] < heap[0][0])).tolist():
            item = (int(these.rank[found]), int(these.place[found]))
            if item[0] < heap[0][0]:
                these.rank[found], these.place[found] = heap[0]
                _sift(heap, 0, length, item)
        place, block = place + block, 2 * block
    if sort:
        for end in range(length - 1, 0, -1):
            item, heap[end] = heap[end], heap[0]
            _sift(heap, 0, end, item)
    these.rank[first:middle], these.place[first:middle] = zip(*heap)


def _sort(these: _Arrangement, first: np.ndarray, last: np.ndarray) -> None:
    """Sort segments of one length."""
    if not first.size or last[0] - first[0] < 2:
        return
    begins, ends = first, last
    for _ in range(2 * (int(last[0] - first[0]).bit_length() - 1)):
        going = last - first > _SHORT
        first, last = first[going], last[going]
        if not first.size:
            break
        cuts = _partition(these, first, last)
        first, last = np.concatenate((first, cuts)), np.concatenate((cuts, last))
    for segment in np.flatnonzero(last - first > _SHORT):
        low, high = int(first[segment]), int(last[segment])
        _select_in_heap(these, low, high, high, True)
    inside = begins[:, None] + np.arange(ends[0] - begins[0])
    order = np.take_along_axis(inside, these.rank[inside].argsort(-1, kind="stable"), -1)
    for array in (these.rank, these.place):
        array[inside] = array[order]


def _select(these: _Arrangement, nth: np.ndarray) -> None:
    """Bring to place ``nth`` of each row what belongs there, nothing greater before it and nothing less behind it."""
    first, last, nth = these.starts.copy(), these.starts + these.length, these.starts + nth
    going = np.arange(these.rows)
    for _ in range(2 * (these.length.bit_length() - 1)):
        going = going[last[going] - first[going] > 3]
        if not going.size:
            break
        cuts = _partition(these, first[going], last[going])
        right = cuts <= nth[going]
        first[going[right]], last[going[~right]] = cuts[right], cuts[~right]
    for row in range(these.rows):
        low, high, place = int(first[row]), int(last[row]), int(nth[row])
        if high - low <= 3:
            these.insert(low, high)
        else:
            _select_in_heap(these, low, place + 1, high, False)
            these.swap(np.array([low]), np.array([place]))


# Short rows: element by element in lists, a rank and a place in one number.


def _partition_short(items: list[int], first: int, last: int) -> int:
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = items[a] >> _BITS, items[b] >> _BITS, items[c] >> _BITS
    chosen = (b if y < z else c if x < z else a) if x < y else (a if x < z else c if y < z else b)
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


def _sort_short(items: list[int], first: int, last: int) -> bool:
    """Sort a range of a short row; False where partitions go too deep."""
    ranges = [(first, last, 2 * (max(last - first, 1).bit_length() - 1))]
    while ranges:
        low, high, left = ranges.pop()
        while high - low > _SHORT:
            if not left:
                return False
            left -= 1
            cut = _partition_short(items, low, high)
            ranges.append((cut, high, left))
            high = cut
    items[first:last] = sorted(items[first:last], key=_rank_of)
    return True


def _select_short(items: list[int], nth: int) -> bool:
    """``_select`` of a short row; False where partitions go too deep."""
    low, high, left = 0, len(items), 2 * (len(items).bit_length() - 1)
    while high - low > 3:
        if not left:
            return False
        left -= 1
        cut = _partition_short(items, low, high)
        low, high = (cut, high) if cut <= nth else (low, cut)
    items[low:high] = sorted(items[low:high], key=_rank_of)
    return True


def _rank_of(item: int) -> int:
    return item >> _BITS


def _short_rows(ranks: np.ndarray) -> list[list[int]]:
    return ((ranks.astype(np.int64) << _BITS) + np.arange(ranks.shape[1])).tolist()


def _short_places(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, np.int64) & ((1 << _BITS) - 1)


# What torch's functions do


def sorted_places(ranks: np.ndarray) -> np.ndarray:
    """The indices that sort rows of ranks, in ``std::sort``'s order of equal ones."""
    if ranks.size <= _FEW:
        rows = _short_rows(ranks)
        if all(_sort_short(row, 0, len(row)) for row in rows):
            return _short_places(rows)
    these = _Arrangement(ranks)
    _sort(these, these.starts, these.starts + these.length)
    return these.places()


def first_places(ranks: np.ndarray, k: int, sort: bool) -> np.ndarray:
    """The indices of the ``k`` least ranks of each row, as torch selects them for ``topk``; in order, where it is asked to or does so."""
    heaped = 64 * k <= ranks.shape[1]
    if not heaped and ranks.size <= _FEW:
        rows = _short_rows(ranks)
        if all(_select_short(row, k - 1) and (not sort or _sort_short(row, 0, k - 1)) for row in rows):
            return _short_places([row[:k] for row in rows])
    these = _Arrangement(ranks)
    if heaped:
        for start in these.starts.tolist():
            _select_in_heap(these, start, start + k, start + these.length, True)
    else:
        _select(these, np.full(these.rows, k - 1))
        if sort:
            _sort(these, these.starts, these.starts + (k - 1))
    return these.places()[:, :k]


def kth_place(ranks: np.ndarray, k: int) -> int:
    """The index in a row of ranks that torch's selection for ``kthvalue`` brings to place ``k``.

    It partitions about the median of the first, the middle and the last (W. H. Press et al., Numerical Recipes in C, 1992, 8.5).
    """
    these = _Arrangement(ranks[None])
    rank = these.rank

    def swap(first: int, second: int) -> None:
        these.swap(np.array([first]), np.array([second]))

    def order(first: int, second: int) -> None:
        if rank[first] > rank[second]:
            swap(first, second)

    low, high = 0, len(rank) - 1
    while high > low + 1:
        swap(low + (high - low) // 2, low + 1)
        order(low + 1, high)
        order(low, high)
        order(low + 1, low)
        left = np.flatnonzero(rank[low + 2 : high + 1] >= rank[low]) + (low + 2)
        right = np.flatnonzero(rank[low + 1 : high] <= rank[low])[::-1] + (low + 1)
        pairs = min(len(left), len(right))
        count = int(np.count_nonzero(left[:pairs] <= right[:pairs]))
        these.swap(left[:count], right[:count])
        apart = count - bool(count and left[count - 1] == right[count - 1])  # the last may be a pair of one element
        i = min([*left[count : count + 1].tolist(), *right[:apart][-1:].tolist()])
        j = max([*right[count : count + 1].tolist(), *left[:apart][-1:].tolist()])
        swap(low, j)
        low, high = i if j <= k else low, j - 1 if j >= k else high
    if high == low + 1:
        order(low, high)
    return int(these.place[k])
