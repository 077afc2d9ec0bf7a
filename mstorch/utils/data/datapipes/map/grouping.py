"""A map-style datapipe of batches: ``batch``."""

from __future__ import annotations

from typing import Any, TypeVar

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, MapDataPipe
from ..utils._lengths import batches, length_of

__all__ = ["BatcherMapDataPipe"]

_T = TypeVar("_T")


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[DataChunk[Any]]):
    """Batches of ``batch_size`` consecutive samples; the last may be smaller, or is dropped.

    Raises AssertionError for a size below 1.

    (functional name: ``batch``)
    """

    datapipe: MapDataPipe[Any]
    batch_size: int
    drop_last: bool

    def __init__(
        self,
        datapipe: MapDataPipe[_T],
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type[DataChunk[Any]] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: int) -> DataChunk[Any]:
        batch: list[Any] = []
        try:
            for place in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[place])
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        return batches(length_of(self.datapipe, self), self.batch_size, self.drop_last)
