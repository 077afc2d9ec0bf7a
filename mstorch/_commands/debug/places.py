"""Source line of a call in the user's program, and descriptions of its arguments."""
from __future__ import annotations

import linecache
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ..._src.core.tensor_base import TensorBase, strides_of

_PACKAGE = str(Path(__file__).resolve().parents[2])
_OURS = (str(Path(__file__).parent), str(Path(_PACKAGE, "_src", "core", "overriding.py")))
_LAYERS = str(Path(_PACKAGE, "nn"))
_LONGEST = 60
_MOST = 8


class Place(NamedTuple):
    """A line of the user's program, and the ``torch.nn`` modules through which it reached the call, the outermost first."""

    file: str
    line: int
    function: str
    layers: tuple[str, ...]

    def __str__(self) -> str:
        inside = f", in {' > '.join(self.layers)}" if self.layers else ""
        return f"{self.file}:{self.line} ({self.function}){inside}"

    def source(self) -> str:
        """Return the source text of the line."""
        return linecache.getline(self.file, self.line).strip()


def place_of_call() -> Place:
    """Return the innermost line on the stack outside of mstorch."""
    frame: Any = sys._getframe(1)
    layers: list[str] = []
    outermost = frame
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<frozen")):
            return Place(code.co_filename, frame.f_lineno, code.co_name, tuple(reversed(layers)))
        if code.co_name == "forward" and "self" in frame.f_locals:
            layers.append(type(frame.f_locals["self"]).__name__)
        outermost, frame = frame, frame.f_back
    return Place(outermost.f_code.co_filename, outermost.f_lineno, outermost.f_code.co_name, ())


def called_by_rule() -> bool:
    """Return True if mstorch itself calls the current operation, as gradient rules do, not the program or a module of ``nn``."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_PACKAGE) and not frame.f_code.co_filename.startswith(_LAYERS)


def described(value: Any, strides: bool = False) -> str:
    """Return an argument in one line: ``float32[2, 3]`` for a tensor, with strides if requested."""
    if isinstance(value, TensorBase):
        text = f"{value._ms_dtype.name}[{', '.join(map(str, value._ms_shape))}]"
        if strides and value._ms_shape:
            text += f" strides ({', '.join(map(str, strides_of(value)))})"
        return text
    if isinstance(value, (list, tuple)):
        inner = ", ".join(described(item, strides) for item in value[:_MOST]) + (", …" if len(value) > _MOST else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    text = repr(value) if not hasattr(value, "__array__") else f"array of {value.dtype}{list(value.shape)}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def call_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], strides: bool = False) -> str:
    """Return a call as one line of text."""
    parts = [described(arg, strides) for arg in args] + [f"{key}={described(value, strides)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"
