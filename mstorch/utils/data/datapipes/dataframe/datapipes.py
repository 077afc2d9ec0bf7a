"""Datapipes that create, split, concatenate, shuffle and filter data frames."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DFIterDataPipe, IterDataPipe
from . import dataframe_wrapper

__all__ = [
    "ConcatDataFramesPipe",
    "DataFramesAsTuplesPipe",
    "ExampleAggregateAsDataFrames",
    "FilterDataFramesPipe",
    "PerRowDataFramesPipe",
    "ShuffleDataFramesPipe",
]


def _joined(frames: Iterable[Any], size: int | None) -> Iterator[Any]:
    """Iterate over concatenations of ``size`` frames each; the last may have fewer."""
    waiting: list[Any] = []
    for frame in frames:
        waiting.append(frame)
        if len(waiting) == size:
            yield dataframe_wrapper.concat(waiting)
            waiting = []
    if waiting:
        yield dataframe_wrapper.concat(waiting)


@functional_datapipe("_dataframes_as_tuples")
class DataFramesAsTuplesPipe(IterDataPipe[Any]):
    """Yields the rows of frames."""

    def __init__(self, source_datapipe: Any) -> None:
        super().__init__()
        self.source_datapipe = source_datapipe

    def __iter__(self) -> Iterator[Any]:
        for frame in self.source_datapipe:
            yield from dataframe_wrapper.iterate(frame)


@functional_datapipe("_dataframes_per_row", enable_df_api_tracing=True)
class PerRowDataFramesPipe(DFIterDataPipe):
    """Yields frames of one row."""

    def __init__(self, source_datapipe: Any) -> None:
        self.source_datapipe = source_datapipe

    def __iter__(self) -> Iterator[Any]:
        for frame in self.source_datapipe:
            for row in range(len(frame)):
                yield frame[row : row + 1]


@functional_datapipe("_dataframes_concat", enable_df_api_tracing=True)
class ConcatDataFramesPipe(DFIterDataPipe):
    """Yields concatenations of ``batch`` frames."""

    def __init__(self, source_datapipe: Any, batch: int = 3) -> None:
        self.source_datapipe = source_datapipe
        self.n_batch = batch

    def __iter__(self) -> Iterator[Any]:
        yield from _joined(self.source_datapipe, self.n_batch)


@functional_datapipe("_dataframes_shuffle", enable_df_api_tracing=True)
class ShuffleDataFramesPipe(DFIterDataPipe):
    """Shuffles all rows by Python's ``random``, and yields frames as long as the first one."""

    def __init__(self, source_datapipe: Any) -> None:
        self.source_datapipe = source_datapipe

    def __iter__(self) -> Iterator[Any]:
        size = None
        rows: list[Any] = []
        for frame in self.source_datapipe:
            length = dataframe_wrapper.get_len(frame)
            size = length if size is None else size
            rows.extend(dataframe_wrapper.get_item(frame, row) for row in range(length))
        random.shuffle(rows)
        yield from _joined(rows, size)


@functional_datapipe("_dataframes_filter", enable_df_api_tracing=True)
class FilterDataFramesPipe(DFIterDataPipe):
    """Yields the rows for which ``filter_fn`` is true, in frames as long as the first one."""

    def __init__(self, source_datapipe: Any, filter_fn: Any) -> None:
        self.source_datapipe = source_datapipe
        self.filter_fn = filter_fn

    def __iter__(self) -> Iterator[Any]:
        size = None
        rows: list[Any] = []
        for frame in self.source_datapipe:
            size = len(frame.index) if size is None else size
            rows.extend(frame[row : row + 1] for row in range(len(frame.index)) if self.filter_fn(frame.iloc[row]))
        yield from _joined(rows, size)


@functional_datapipe("_to_dataframes_pipe", enable_df_api_tracing=True)
class ExampleAggregateAsDataFrames(DFIterDataPipe):
    """Yields frames of ``dataframe_size`` samples, each of which is a row or a 1-element sequence of a row."""

    def __init__(self, source_datapipe: Any, dataframe_size: int = 10, columns: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.columns = columns
        self.dataframe_size = dataframe_size

    def _as_list(self, item: Any) -> list[Any]:
        try:
            return list(item)
        except TypeError:
            return [item]

    def __iter__(self) -> Iterator[Any]:
        rows: list[list[Any]] = []
        for item in self.source_datapipe:
            rows.append(self._as_list(item))
            if len(rows) == self.dataframe_size:
                yield dataframe_wrapper.create_dataframe(rows, columns=self.columns)
                rows = []
        if rows:
            yield dataframe_wrapper.create_dataframe(rows, columns=self.columns)
