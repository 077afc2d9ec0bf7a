"""A datapipe that filters samples: ``filter``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .._decorator import functional_datapipe
from ..dataframe import dataframe_wrapper
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _check_unpickable_fn, validate_input_col

__all__ = ["FilterIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[_T_co]):
    """Yields the samples for which ``filter_fn`` of the sample, or of its columns ``input_col``, is True.

    A data frame is filtered by rows. Raises ValueError if the function does not return a bool. Streams of dropped samples are closed.

    (functional name: ``filter``)
    """

    datapipe: IterDataPipe[_T_co]
    filter_fn: Callable[..., Any]

    def __init__(self, datapipe: IterDataPipe[_T_co], filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(filter_fn)
        self.filter_fn = filter_fn
        self.input_col = input_col
        validate_input_col(filter_fn, input_col)

    def _apply_filter_fn(self, data: Any) -> int:
        if self.input_col is None:
            return self.filter_fn(data)
        columns = self.input_col if isinstance(self.input_col, list | tuple) else [self.input_col]
        return self.filter_fn(*[data[column] for column in columns])

    def __iter__(self) -> Iterator[_T_co]:
        for data in self.datapipe:
            condition, kept = self._returnIfTrue(data)
            if condition:
                yield kept
            else:
                StreamWrapper.close_streams(data)

    def _returnIfTrue(self, data: Any) -> tuple[bool, Any]:
        condition = self._apply_filter_fn(data)
        if dataframe_wrapper.is_column(condition):
            rows = [
                dataframe_wrapper.get_item(data, index)
                for index, mask in enumerate(dataframe_wrapper.iterate(condition))
                if mask
            ]
            return (True, dataframe_wrapper.concat(rows)) if rows else (False, None)
        if not isinstance(condition, bool):
            raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(condition))
        return condition, data
