"""A datapipe that reads streams: ``read_from_stream``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["StreamReaderIterDataPipe"]


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[tuple[str, Any]]):
    """Yields pairs of a label and its stream's contents, whole or in chunks of ``chunk`` bytes (characters for text).

    (functional name: ``read_from_stream``)
    """

    def __init__(self, datapipe: IterDataPipe[Any], chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for label, stream in self.datapipe:
            while piece := stream.read(self.chunk):
                yield label, piece
            stream.close()
