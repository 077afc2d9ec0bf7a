"""Types of TorchScript's graphs, which exporters to ONNX name in annotations. There are no such graphs here, so nothing makes one."""
from __future__ import annotations

from typing import Any


class _Unmade:
    """A type without a constructor."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"torch._C.{cls.__name__}: No constructor defined!")


class Graph(_Unmade):
    """A graph of TorchScript."""


class Block(_Unmade):
    """A block of a graph."""


class Node(_Unmade):
    """A node of a graph."""


class Value(_Unmade):
    """A value that a node of a graph gives or takes."""


class Type(_Unmade):
    """The type of a value."""
