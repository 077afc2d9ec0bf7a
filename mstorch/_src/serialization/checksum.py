"""CRC-32 of large records, computed in threads while the file is read."""

from __future__ import annotations

import functools
import io
import os
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..backend.runtime import NUMPY_2

BLOCK = 1 << 20
"""Bytes of a block, few enough that they are still in a core's cache when they are checked."""
LARGE = 1 << 23
"""Bytes of a record from which threads are worth their start."""
_POLYNOMIAL = 0xEDB88320
Shift = tuple[int, ...]
"""A linear map of checksums: the images of their 32 bits."""


def _apply(shift: Shift, checksum: int) -> int:
    result, place = 0, 0
    while checksum:
        if checksum & 1:
            result ^= shift[place]
        checksum >>= 1
        place += 1
    return result


@functools.lru_cache(8)
def _shift_by(count: int) -> Shift:
    """Return the map of a checksum to that of the same bytes with ``count`` zeros behind them."""
    power: Shift = (_POLYNOMIAL, *(1 << place for place in range(31)))  # of one zero bit
    shift: Shift = tuple(1 << place for place in range(32))
    bits = count * 8
    while bits:
        if bits & 1:
            shift = tuple(_apply(power, image) for image in shift)
        power = tuple(_apply(power, image) for image in power)
        bits >>= 1
    return shift


def joined(first: int, second: int, count: int) -> int:
    """Return the checksum of two parts of bytes of theirs; ``count`` is the number of the second part's bytes."""
    return _apply(_shift_by(count), first) ^ second


def descriptor_of(file: Any) -> int | None:
    """Return the descriptor of a file that Python's ``open`` returned for reading, whose bytes any thread may read; None for other objects.

    (A file that unpacks another one has that one's descriptor: only the classes of ``open`` count.)
    """
    raw = file.raw if type(file) is io.BufferedReader else file
    return raw.fileno() if type(raw) is io.FileIO and hasattr(os, "preadv") else None


def _read_at(descriptor: int, part: memoryview, start: int) -> int:
    """Fill a block from a place of a file; return its checksum, or -1 if the file ends before."""
    done = 0
    while done < len(part):
        count = os.preadv(descriptor, [part[done:]], start + done)
        if not count:
            return -1
        done += count
    return zlib.crc32(part)


_multiarray: Any = sys.modules["numpy._core.multiarray" if NUMPY_2 else "numpy.core.multiarray"]
_ask_for_huge_pages: Callable[[bool], bool] = getattr(_multiarray, "_set_madvise_hugepage", lambda asks: asks)
_USUALLY = _ask_for_huge_pages(False)  # whether NumPy asks the system for huge pages
_ask_for_huge_pages(_USUALLY)


def room_for(count: int) -> Any:
    """Return an array of bytes without values, in pages of the usual size.

    In huge pages two threads that fill new memory took between 0.8 and 3 times as long, as the system has to make room for such pages (500
    MB: 0.22 to 0.8 s, in usual ones 0.28)."""
    try:
        _ask_for_huge_pages(False)
        return np.empty(count, np.uint8)
    finally:
        _ask_for_huge_pages(_USUALLY)  # not the value before, which another thread may have set


def fill(read: Callable[[memoryview], None], data: Any, descriptor: int | None = None, start: int = 0) -> int:
    """Fill an array of bytes, and return their checksum; -1 if the file ends before.

    ``zlib.crc32`` takes as long as the read of a file that is in memory, and both leave other threads the interpreter. Two threads read and
    check the blocks of a large record, from the place ``start`` of the file ``descriptor``. For other objects ``read`` fills a block, while
    two threads check those before.
    """
    view = memoryview(data)
    if len(view) < LARGE:
        read(view)
        return zlib.crc32(view)
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as threads:
        parts = []
        for place in range(0, len(view), BLOCK):
            part = view[place : place + BLOCK]
            if descriptor is not None:
                parts.append((len(part), threads.submit(_read_at, descriptor, part, start + place)))
            else:
                read(part)
                parts.append((len(part), threads.submit(zlib.crc32, part)))
        checksum = 0
        for count, part_checksum in parts:
            if part_checksum.result() < 0:
                return -1
            checksum = joined(checksum, part_checksum.result(), count)
    return checksum
