"""Find the origin of an error: a ``raise`` statement of mstorch, or the interpreter or another library, which rejected the values passed to
them. The origin is determined by the end of the traceback, never by the error's text."""
from __future__ import annotations

import dis
import os
from pathlib import Path
from types import TracebackType

_HERE = str(Path(__file__).resolve().parents[2]) + os.sep
_LIBRARIES = tuple(f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("mindspore", "numpy", "scipy"))
_RAISE = dis.opmap["RAISE_VARARGS"]


def _end(error: BaseException) -> TracebackType | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def in_a_library(error: BaseException) -> bool:
    """Return whether the code of a library with which mstorch computes raised an error."""
    trace = _end(error)
    return trace is not None and any(part in trace.tb_frame.f_code.co_filename for part in _LIBRARIES)


def foreign(error: BaseException) -> bool:
    """Return True if a library raised the error, or if Python itself or a C function raised it in a line of mstorch that is not a ``raise``
    statement."""
    trace = _end(error)
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_HERE):
        return in_a_library(error)
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] != _RAISE
