"""Counts reads of a device's values by the line of the program that asked for them."""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mindspore

import mstorch

_PACKAGE = str(Path(mstorch.__file__).parent)
_open: list[Counter[str]] = []
_read = mindspore.Tensor.asnumpy


def _asker() -> str:
    """Return the line outside of mstorch that led here, and the innermost one of mstorch."""
    frame, inner = sys._getframe(2), ""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_PACKAGE):
            inner = inner or f"{name[len(_PACKAGE) + 1 :]}:{frame.f_lineno}"
            if "/_companions/" in name and "_companions" not in inner:
                inner = f"{name[len(_PACKAGE) + 1 :]}:{frame.f_lineno}, {inner}"
        elif "/mindspore/" not in name and "contextlib" not in name and not name.startswith("<"):
            return f"{Path(name).name}:{frame.f_lineno} ({inner})"
        frame = frame.f_back
    return f"({inner})"


def _asnumpy(self: Any) -> Any:
    if _open:
        line = _asker()
        for lines in _open:
            lines[line] += 1
    return _read(self)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Context manager that counts reads by the line that asked. MindSpore's own function is in its place again afterwards: guards of later
    tests' graphs know no other."""
    lines: Counter[str] = Counter()
    _open.append(lines)
    mindspore.Tensor.asnumpy = _asnumpy
    try:
        yield lines
    finally:
        _open.remove(lines)
        if not _open:
            mindspore.Tensor.asnumpy = _read


__all__ = ["counted"]
