"""The metadata of a checkpoint of several processes."""
from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its size."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor: its dtype, its size, its parts, and the file of each."""

    dtype: str
    size: tuple[int, ...]
    chunks: list[ChunkStorageMetadata]
    files: list[str]


@dataclasses.dataclass
class BytesStorageMetadata:
    """An object that is no tensor: its file."""

    file: str


@dataclasses.dataclass
class Metadata:
    """The entries by name, and the way through dictionaries and lists to each."""

    state_dict_metadata: dict[str, Any]
    planner_data: dict[str, tuple[Any, ...]] | None = None


__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorStorageMetadata"]
