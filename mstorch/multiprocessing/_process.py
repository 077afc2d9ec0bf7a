"""Set the signal that a process gets when its parent ends, and the names of threads. Linux only; no effect on other systems."""
from __future__ import annotations

import ctypes
import sys
import threading

_SET_PARENT_DEATH_SIGNAL, _SET_NAME, _GET_NAME = 1, 15, 16


def _prctl(option: int, value: object) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent(signal: int) -> None:
    """Make this process receive a signal when its parent ends."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, ctypes.c_ulong(signal))


def set_thread_name(name: str) -> None:
    """Set the current thread's name, at most 15 bytes."""
    _prctl(_SET_NAME, ctypes.c_char_p(name.encode()[:15]))


def get_thread_name() -> str:
    """Return the current thread's name."""
    if sys.platform != "linux":
        return threading.current_thread().name
    buffer = ctypes.create_string_buffer(16)
    _prctl(_GET_NAME, buffer)
    return buffer.value.decode()
