"""Keys: the steps of a path to a leaf."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The key of a sequence item."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        """Return the item."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The key of a mapping value."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[Any, Any]) -> Any:
        """Return the value."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """Key of an attribute in a key path."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute's value."""
        return getattr(obj, self.name)


def keystr(kp: Iterable[Any]) -> str:
    """Format a path as text: ``[0]['a'].x``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """Return the subtree at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
