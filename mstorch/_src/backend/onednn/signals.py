"""An alternate signal stack for each thread that runs the library's kernels.

Matrix products in oneDNN 3.10 (its sgemm with AVX-512, and its matmul primitive with AVX2) use the stack pointer as a general register: it
points into a matrix, where the kernel of the operating system would push a signal frame. Python's handlers run on the thread's alternate
stack if there is one, so every thread gets one. It costs nothing per call (blocking signals around each kernel takes 1.5 µs), and protects
all kernels.
"""
from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from typing import Any

_SIZE = 1 << 17  # bytes: a frame of AVX-512 takes 4 kB, of AMX 11
_DISABLED = 2


class _Stack(ctypes.Structure):
    """Linux's ``stack_t``: an alternate signal stack."""

    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


def _sigaltstack() -> Any:
    """Return the C library's sigaltstack; None on systems other than Linux."""
    function = getattr(ctypes.CDLL(None), "sigaltstack", None) if sys.platform == "linux" else None
    if function is not None:
        function.argtypes = [ctypes.POINTER(_Stack), ctypes.POINTER(_Stack)]
    return function


_SIGALTSTACK = _sigaltstack()
_left: list[mmap.mmap] = []  # stacks of threads that could not free them: the system may still write there


def has_stack() -> bool:
    """Return whether this thread has an alternate signal stack."""
    if _SIGALTSTACK is None:
        return False
    now = _Stack()
    return not _SIGALTSTACK(None, ctypes.byref(now)) and not now.flags & _DISABLED


class HandlersStack:
    """Alternate signal stack for this thread, unless it has one; removed when the thread ends."""

    def __init__(self) -> None:
        self.memory: mmap.mmap | None = None
        self.thread = threading.get_ident()
        if _SIGALTSTACK is None or has_stack():
            return
        memory = mmap.mmap(-1, _SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        if not _SIGALTSTACK(ctypes.byref(_Stack(start, 0, _SIZE)), None):
            self.memory, self.start = memory, start

    def __del__(self) -> None:
        if self.memory is None:
            return
        now = _Stack()
        if threading.get_ident() != self.thread or _SIGALTSTACK(None, ctypes.byref(now)):
            _left.append(self.memory)
        elif now.start == self.start and _SIGALTSTACK(ctypes.byref(_Stack(None, _DISABLED, 0)), None):
            _left.append(self.memory)  # the stack is in use
