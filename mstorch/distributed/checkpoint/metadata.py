"""Metadata classes of a distributed checkpoint."""
from __future__ import annotations

import dataclasses
from typing import Any

from ..._src.hook import missing as _missing


@dataclasses.dataclass
class ChunkStorageMetadata:
    """A shard of a tensor: its offsets and its size."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor: its dtype, its size, its shards, and the file of each."""

    dtype: str
    size: tuple[int, ...]
    chunks: list[ChunkStorageMetadata]
    files: list[str]


@dataclasses.dataclass
class BytesStorageMetadata:
    """A non-tensor object: its file."""

    file: str


@dataclasses.dataclass
class Metadata:
    """Metadata of a checkpoint: its entries by name, and the path to each in nested dicts and lists."""

    state_dict_metadata: dict[str, Any]
    planner_data: dict[str, tuple[Any, ...]] | None = None


__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorStorageMetadata"]

__getattr__ = _missing(__name__)
