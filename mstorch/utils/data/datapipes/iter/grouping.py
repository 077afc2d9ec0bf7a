"""Datapipes of batches and groups: ``batch``, ``unbatch``, ``groupby``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .._decorator import functional_datapipe
from ..datapipe import PASS, DataChunk, IterDataPipe, PartlyKept
from ..utils._lengths import batches, length_of
from ..utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[DataChunk[Any]]):
    """Yields batches of ``batch_size`` samples as ``wrapper_class``; the last may be smaller, or is dropped.

    Raises AssertionError for a size below 1.

    (functional name: ``batch``)
    """

    datapipe: IterDataPipe[Any]
    batch_size: int
    drop_last: bool

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
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

    def __iter__(self) -> Iterator[DataChunk[Any]]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        return batches(length_of(self.datapipe, self), self.batch_size, self.drop_last)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """Yields the items of nested lists and chunks, flattened by ``unbatch_level`` levels, or by all levels with -1.

    Iteration raises ValueError if ``unbatch_level`` is less than -1, and IndexError if the lists are nested less deeply.

    (functional name: ``unbatch``)
    """

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._dive(element, unbatch_level=self.unbatch_level)

    def _dive(self, element: Any, unbatch_level: int) -> Iterator[Any]:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        nested = isinstance(element, list | DataChunk)
        if unbatch_level == 0 or unbatch_level == -1 and not nested:
            yield element
            return
        if not nested:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for item in element:
            yield from self._dive(item, unbatch_level if unbatch_level == -1 else unbatch_level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(PartlyKept, IterDataPipe[DataChunk[Any]]):
    """Yields chunks of samples with the same key as soon as they have ``group_size`` samples; with ``keep_key``, (key, chunk).

    When ``buffer_size`` samples are buffered, the largest group is yielded if it has ``guaranteed_group_size`` (by default ``group_size``)
    samples; a smaller one is dropped with ``drop_remaining``, else RuntimeError is raised. The rest is yielded at the end. Raises
    AssertionError for inconsistent sizes.

    (functional name: ``groupby``)
    """

    def __init__(
        self,
        datapipe: IterDataPipe[_T_co],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_unpickable_fn(group_key_fn)
        self.datapipe: IterDataPipe[Any] = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self._forget()
        self.group_size = group_size
        self.guaranteed_group_size: int | None = None
        if group_size is not None and buffer_size is not None:
            if not (0 < group_size <= buffer_size):
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not (0 < guaranteed_group_size <= group_size):
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def _forget(self) -> None:
        self.curr_buffer_size = 0
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)

    def _remove_biggest_key(self) -> list[Any] | None:
        biggest_key = max(self.buffer_elements, key=lambda key: len(self.buffer_elements[key]))
        group = self.buffer_elements[biggest_key]
        enough = self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size
        if not enough and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(group))
        self.curr_buffer_size -= len(group)
        del self.buffer_elements[biggest_key]
        return group if enough else None

    def _wrapped(self, key: Any, group: list[Any]) -> Any:
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self) -> Iterator[Any]:
        key: Any = None
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            self.buffer_elements[key].append(sample)
            self.curr_buffer_size += 1
            if self.group_size is not None and self.group_size == len(self.buffer_elements[key]):
                yield self._wrapped(key, self.buffer_elements[key])
                self.curr_buffer_size -= len(self.buffer_elements[key])
                del self.buffer_elements[key]
            if self.curr_buffer_size == self.max_buffer_size:
                group = self._remove_biggest_key()
                if group is not None:
                    # torch yields the key of the last sample here, not the group's key.
                    yield self._wrapped(key, group)
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements.pop(key)
            self.curr_buffer_size -= len(group)
            yield self._wrapped(key, group)

    def reset(self) -> None:
        """Clear the buffer."""
        self._forget()

    _kept = (
        "datapipe",
        "group_key_fn",
        "keep_key",
        "max_buffer_size",
        "group_size",
        "guaranteed_group_size",
        "drop_remaining",
        "wrapper_class",
        *PASS,
    )

    def _restored(self) -> None:
        self._forget()
