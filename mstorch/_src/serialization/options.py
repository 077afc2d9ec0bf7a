"""Settings of save and load that outlast a call."""

from __future__ import annotations

import mmap as mmap_module
import sys
import threading
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mstorch._src.progress import Progress

DEFAULT_PROTOCOL = 2
DEFAULT_ALIGNMENT = 64


class LoadEndianness(Enum):
    """The byte order of files without a byteorder record."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


@dataclass
class _Options:
    mmap: bool = False
    mmap_flags: int | None = getattr(mmap_module, "MAP_PRIVATE", None)
    endianness: LoadEndianness | None = None
    compute_crc32: bool = True
    storage_alignment: int = DEFAULT_ALIGNMENT


OPTIONS = _Options()


class _Local(threading.local):
    def __init__(self) -> None:
        self.skip_data: bool = False
        self.map_location: Any = None
        self.progress: Progress | None = None  # progress of the file that is being read
        self.values_later: bool = False  # True while reading a format with the values at its end


LOCAL = _Local()


def fallback_byteorder() -> str:
    """Return 'little' or 'big' for a file without a byteorder record."""
    if OPTIONS.endianness is LoadEndianness.BIG:
        return "big"
    if OPTIONS.endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "little"
