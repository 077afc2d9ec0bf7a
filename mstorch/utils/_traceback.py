"""torch.utils._traceback: short formats of tracebacks, and captured stacks."""
from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Any


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """Return a path relative to a folder, by default the package's parent."""
    base = os.path.dirname(os.path.dirname(__file__)) if base is None else base
    try:
        return fn[len(os.path.commonpath([fn, base])) + 1 :]
    except ValueError:
        return fn


def format_frame(frame: traceback.FrameSummary, *, base: str | None = None, line: bool = False) -> str:
    """Format a frame as ``file.py:12 in function``; with ``line``, as ``<source line>  # file.py:12 in function``."""
    before = f"{frame.line}  # " if line else ""
    return f"{before}{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: TracebackType | None) -> str:
    """Format the innermost frame of a traceback as one line."""
    return format_frame(traceback.extract_tb(tb)[-1])


class CapturedTraceback:
    """A captured Python stack whose source lines are looked up when it is formatted."""

    __slots__ = ["tb", "skip"]

    def __init__(self, tb: Any, skip: int = 0) -> None:
        self.tb = tb
        self.skip = skip

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """Capture the caller's stack without its ``skip`` innermost frames. mstorch has no TorchScript or C++ frames."""
        if (script or cpp) and skip:
            raise AssertionError("skip with script/cpp NYI")
        frames = [(frame.f_code.co_filename, number, frame.f_code.co_name) for frame, number in traceback.walk_stack(sys._getframe(1))]
        return CapturedTraceback(frames, skip)

    def cleanup(self) -> None:
        """Release the stack."""
        self.tb = None

    def summary(self) -> traceback.StackSummary:
        """Return a StackSummary with the innermost frame last; after ``cleanup`` it is empty."""
        frames = [] if self.tb is None else self.tb[self.skip :][::-1]
        return traceback.StackSummary.from_list([traceback.FrameSummary(*frame) for frame in frames])

    def format(self) -> list[str]:
        """Return the stack as ``traceback.format_list`` formats it."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: Sequence[CapturedTraceback]) -> list[list[str]]:
        """Return a list with ``format()`` of each traceback."""
        return [tb.format() for tb in tbs]

    def __getstate__(self) -> Any:
        return None, {"tb": None, "skip": self.skip}
