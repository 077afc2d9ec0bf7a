"""torch.fx.tensor_type: annotations of the shapes of tensors in graphs, in which any dimension may be unknown."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class TensorType:
    """The type of tensors with these dimensions, each a number or ``Dyn``: ``TensorType((1, Dyn))`` or ``TensorType[1, Dyn]``."""

    def __init__(self, dim: Iterable[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __class_getitem__(cls, *args: Any) -> TensorType:
        return TensorType(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"


class _DynType:
    """The type of the unknown dimension, and of tensors of which nothing is known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


def _pairs(first: TensorType, second: TensorType) -> list[tuple[Any, Any]] | None:
    ours, theirs = list(first.__args__), list(second.__args__)
    return list(zip(ours, theirs)) if len(ours) == len(theirs) else None


def is_consistent(t1: Any, t2: Any) -> bool:
    """Return whether two types, or dimensions, may be those of one tensor: they are equal where both are known."""
    if t1 == t2 or Dyn in (t1, t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        pairs = _pairs(t1, t2)
        return pairs is not None and all(is_consistent(*pair) for pair in pairs)
    return False


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Return whether the first type, or dimension, is known wherever the second one is, and equal to it there."""
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        pairs = _pairs(t1, t2)
        return pairs is not None and all(is_more_precise(*pair) for pair in pairs)
    return False


__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]
