"""Types of TorchScript graphs that annotations of ONNX exporters name; mstorch never instantiates them."""
from __future__ import annotations

from typing import Any


class _Unmade:
    """Type that cannot be instantiated."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"torch._C.{cls.__name__}: No constructor defined!")


class Graph(_Unmade):
    """TorchScript graph."""


class Block(_Unmade):
    """Block of a TorchScript graph."""


class Node(_Unmade):
    """Node of a TorchScript graph."""


class Value(_Unmade):
    """Input or output of a TorchScript node."""


class Type(_Unmade):
    """Type of a TorchScript value."""
