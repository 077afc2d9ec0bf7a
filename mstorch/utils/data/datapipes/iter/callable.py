"""Datapipes that apply a function: ``map``, ``collate``."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..._collate import default_collate
from .._decorator import functional_datapipe
from ..dataframe import dataframe_wrapper
from ..datapipe import IterDataPipe
from ..utils._lengths import length_of
from ..utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[_T_co]):
    """Applies ``fn`` to each sample, or to its columns ``input_col``; the result replaces them or goes to ``output_col``.

    A column is an index or a key. Of several input columns, the first is replaced by the result and the others are removed; output column
    -1 appends. Raises ValueError if ``fn`` takes another number of arguments.

    (functional name: ``map``)
    """

    datapipe: IterDataPipe[Any]
    fn: Callable[..., Any]

    def __init__(self, datapipe: IterDataPipe[Any], fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(fn)
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, list | tuple)
        columns = self.input_col if several else [self.input_col]
        result = self.fn(*[data[column] for column in columns])
        sample = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            sample.append(result)
        elif self.output_col is not None:
            sample[self.output_col] = result
        else:
            sample[columns[0]] = result
            # From the end, so that earlier indices stay valid.
            for column in sorted(columns[1:], reverse=True):
                del sample[column]
        return tuple(sample) if isinstance(data, tuple) else sample

    def __iter__(self) -> Iterator[_T_co]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


def _collate_helper(conversion: dict[Any, Any], item: Any) -> tuple[Any, ...]:
    """Return a namedtuple of a data frame's columns, each converted by its function."""
    if len(item.items) > 1:
        raise RuntimeError("Only supports one DataFrame per batch")
    frame = item[0]
    columns = dataframe_wrapper.get_columns(frame)
    if any(name not in columns for name in conversion):
        raise RuntimeError("Conversion keys mismatch")
    values = []
    for name in columns:
        if name not in conversion:
            # torch requires the package torcharrow, which is no longer developed, and raises the same error without it.
            raise RuntimeError("unable to import default collation function from the TorchArrow")
        if not callable(conversion[name]):
            raise RuntimeError("Collate (DF)DataPipe requires callable as dict values")
        values.append(conversion[name](frame[name]))
    return namedtuple("CollateResult", [str(name) for name in columns])(*values)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe[Any]):
    """Collates each batch to tensors, by ``default_collate``, another function, or one function for each column of a data frame.

    (functional name: ``collate``)
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        conversion: Callable[..., Any] | dict[str | Any, Callable[..., Any] | Any] | None = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        if collate_fn is None:
            collate_fn = conversion if callable(conversion) else functools.partial(_collate_helper, conversion)  # type: ignore[arg-type]
        super().__init__(datapipe, fn=collate_fn)
