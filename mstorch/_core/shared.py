"""Memory that processes share: a file without a name, which is gone with the last process that has it."""
from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref

import numpy as np

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def _unnamed(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("mstorch", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        os.ftruncate(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class Block:
    """``size`` bytes behind a descriptor, which it owns; a new file if none is given. ``memory`` is the window on them."""

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        self.descriptor = _unnamed(size) if descriptor is None else descriptor
        weakref.finalize(self, os.close, self.descriptor).atexit = False
        self.size = size
        # Python's mmap object would hold a second descriptor.
        address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self.descriptor, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            code = ctypes.get_errno()
            raise OSError(code, f"unable to mmap {size} bytes: {os.strerror(code)}")
        window = (ctypes.c_uint8 * size).from_address(address)
        weakref.finalize(window, _libc.munmap, address, size).atexit = False
        self.memory = np.frombuffer(memoryview(window), np.uint8)

    @property
    def key(self) -> tuple[int, int]:
        """What tells the file from others, the same in every process."""
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino


def mapped(filename: str, shared: bool, nbytes: int) -> np.ndarray:
    """A file's first bytes in memory (all of them for 0)."""
    try:
        if shared:
            with open(filename, "a+b") as file:
                file.seek(0, 2)
                file.truncate(max(nbytes, file.tell()))
        found = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None)
    except OSError as error:
        mode = "read-write mode" if shared else "read-only mode"
        raise RuntimeError(f"unable to open file <{filename}> in {mode}: {error.strerror} ({error.errno})") from None
    return np.asarray(found)
