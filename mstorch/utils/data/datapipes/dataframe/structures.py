"""Batches of data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..datapipe import DataChunk
from . import dataframe_wrapper

__all__ = ["DataChunkDF"]


class DataChunkDF(DataChunk[Any]):
    """A batch of frames whose length and items are rows; ``raw_iterator`` yields the frames."""

    def __iter__(self) -> Iterator[Any]:
        for frame in self.items:
            yield from dataframe_wrapper.iterate(frame)

    def __len__(self) -> int:
        return sum(dataframe_wrapper.get_len(frame) for frame in self.items)
