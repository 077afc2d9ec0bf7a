"""Shared memory between processes: an unnamed file, freed with the last process that maps it."""
from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref

import numpy as np

from ..backend.arrays import Array

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def _unnamed(size: int) -> int:
    descriptor = -1
    try:
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("mstorch", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        os.ftruncate(descriptor, size)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        raise RuntimeError(f"unable to allocate shared memory(shm) of {size} bytes: {error.strerror} ({error.errno})") from None
    return descriptor


class Block:
    """``size`` bytes of shared memory behind an owned file descriptor (a new file if none is given), mapped as ``memory``."""

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        self.descriptor = _unnamed(size) if descriptor is None else descriptor
        weakref.finalize(self, os.close, self.descriptor).atexit = False
        self.size = size
        if descriptor is not None and os.fstat(descriptor).st_size < size:  # reading beyond the file's end would kill the process
            raise RuntimeError(f"unable to mmap {size} bytes from shared memory: it has {os.fstat(descriptor).st_size}")
        # Python's mmap object would hold a second descriptor.
        address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self.descriptor, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            code = ctypes.get_errno()
            raise RuntimeError(f"unable to mmap {size} bytes from shared memory: {os.strerror(code)} ({code})")
        window = (ctypes.c_uint8 * size).from_address(address)
        weakref.finalize(window, _libc.munmap, address, size).atexit = False
        self.memory = np.frombuffer(memoryview(window), np.uint8)

    @property
    def key(self) -> tuple[int, int]:
        """Identifier of the file, the same in every process."""
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino


def mapped(filename: str, shared: bool, nbytes: int) -> Array:
    """Map the first ``nbytes`` of a file into memory (0: the whole file); if ``shared``, the file grows to that size."""
    if nbytes < 0:
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{filename}>: Cannot allocate memory (12)")
    doing = f"unable to open file <{filename}> in {'read-write' if shared else 'read-only'} mode"
    try:
        if shared:
            with open(filename, "a+b") as file:
                size = file.seek(0, 2)
                doing = f"unable to resize file <{filename}> to the right size"
                file.truncate(max(nbytes, size))
        else:
            size = os.stat(filename).st_size
            if size < nbytes:
                raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        doing = f"unable to mmap {nbytes} bytes from file <{filename}>"
        found = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None)
    except OSError as error:
        raise RuntimeError(f"{doing}: {error.strerror} ({error.errno})") from None
    return np.asarray(found)
