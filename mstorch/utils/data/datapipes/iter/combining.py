"""Datapipes that join several datapipes or split one: ``concat``, ``zip``, ``mux``, ``fork``, ``demux``."""

from __future__ import annotations

import copy as copying
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from ....._src.core.warned import warn
from .._decorator import functional_datapipe
from .._hook_iterator import _SnapshotState
from ..datapipe import PASS, IterDataPipe, PartlyKept
from ..utils._lengths import lengths_of
from ..utils.common import StreamWrapper, _check_unpickable_fn

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]

_T_co = TypeVar("_T_co", covariant=True)


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """Concatenates datapipes. Raises ValueError for none, TypeError for other objects.

    (functional name: ``concat``)
    """

    datapipes: tuple[IterDataPipe[Any], ...]

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(lengths_of(self.datapipes, self))


class _ContainerTemplate(ABC):
    """A datapipe read by several children, each with its number."""

    @abstractmethod
    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """Iterate over the samples of a child."""

    @abstractmethod
    def is_every_instance_exhausted(self) -> bool:
        """Return whether all children are exhausted."""

    @abstractmethod
    def reset(self) -> None:
        """Restart the iteration."""

    @abstractmethod
    def get_length_by_instance(self, instance_id: int) -> int:
        """Return the number of samples of a child. Raise TypeError if it is not known."""


def _no_op(x: Any) -> Any:
    return x


_COPIES: dict[str | None, Callable[[Any], Any]] = {None: _no_op, "shallow": copying.copy, "deep": copying.deepcopy}


def _warn_unlimited(name: str, buffer_size: int) -> None:
    if buffer_size < 0:
        message = f"Unlimited buffer size is set for `{name}`, please be aware of OOM at random places"
        warn(message, UserWarning)


def _check_instances(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Returns a list of ``num_instances`` datapipes that each yield all samples: the same objects, or copies.

    The fastest may be ``buffer_size`` samples ahead of the slowest, -1 for any number; beyond that BufferError is raised. ``copy`` is None,
    "shallow" or "deep". One instance is the datapipe itself. Raises ValueError for fewer, and for other values of ``copy``.

    (functional name: ``fork``)
    """

    def __new__(
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        buffer_size: int = 1000,
        copy: Literal["shallow", "deep"] | None = None,
    ) -> Any:
        _check_instances(num_instances)
        if num_instances == 1:
            return datapipe
        container = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(container, number) for number in range(num_instances)]


class _ForkerIterDataPipe(PartlyKept, IterDataPipe[Any], _ContainerTemplate):
    """The state shared by the children of a fork: the source's iterator, and the samples that some children have not read yet.

    Counters hold the number of samples read by each child, by the slowest and by the fastest.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000, copy: Literal["shallow", "deep"] | None = None
    ) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        self.buffer: deque[Any] = deque()
        _warn_unlimited("fork", buffer_size)
        if copy not in _COPIES:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = _COPIES[copy]
        self._start()

    def _start(self) -> None:
        self._datapipe_iterator: Iterator[Any] | None = None
        self.buffer = deque()
        self.child_pointers = [0] * self.num_instances
        self.slowest_ptr = 0
        self.leading_ptr = 0
        self.end_ptr: int | None = None
        self._child_stop = [True] * self.num_instances

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def _read(self, instance_id: int) -> Any:
        """Return the child's next sample. Raise StopIteration at the end."""
        self.child_pointers[instance_id] += 1
        place = self.child_pointers[instance_id]
        if place == self.end_ptr:
            raise StopIteration
        if self.buffer and place <= self.leading_ptr:
            value = self.buffer[place - self.slowest_ptr - 1]
        else:
            self.leading_ptr = place
            try:
                value = next(self._datapipe_iterator)  # type: ignore[arg-type]
            except StopIteration:
                self._datapipe_iterator = None
                self.end_ptr = self.leading_ptr
                raise
            self.buffer.append(value)
        if place == self.slowest_ptr + 1 and min(self.child_pointers) > self.slowest_ptr:
            self.slowest_ptr = min(self.child_pointers)
            self.buffer.popleft()
        if 0 <= self.buffer_size < self.leading_ptr - self.slowest_ptr:
            raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
        return value

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """Iterate over all samples, copied according to ``copy``."""
        if self._datapipe_iterator is None and self._child_stop[instance_id]:
            self._datapipe_iterator = iter(self.main_datapipe)
            self._snapshot_state = _SnapshotState.Iterating
            self._child_stop = [False] * self.num_instances
        try:
            while not self._child_stop[instance_id]:
                try:
                    value = self._read(instance_id)
                except StopIteration:
                    return
                yield self.copy_fn(value)
        finally:
            self._child_stop[instance_id] = True
            # All children may have been closed before the source was exhausted.
            if all(self._child_stop):
                self._datapipe_iterator = None
                self._cleanup()

    def is_every_instance_exhausted(self) -> bool:
        """Return whether all children are exhausted."""
        return self.end_ptr is not None and all(self._child_stop)

    def get_length_by_instance(self, instance_id: int) -> int:
        """Return the number of the source's samples."""
        return len(self.main_datapipe)

    def reset(self) -> None:
        """Restart the iteration."""
        self._start()

    _kept = ("main_datapipe", "num_instances", "buffer_size", "copy_fn", *PASS)

    def _restored(self) -> None:
        self._start()

    def _cleanup(self) -> None:
        while self.buffer:
            StreamWrapper.close_streams(self.buffer.popleft())

    def __del__(self) -> None:
        if "buffer" in self.__dict__:  # not if the constructor raised
            self._cleanup()


class _ChildDataPipe(IterDataPipe[Any]):
    """One of several datapipes that read the same container, with its number.

    The children share an iteration: if a child that takes part in it requests a new iterator, another iteration starts and the iterators of
    all children become invalid; the other children then join.
    """

    _is_child_datapipe: bool = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        if not isinstance(main_datapipe, _ContainerTemplate):
            raise AssertionError("main_datapipe must implement _ContainerTemplate")
        self.main_datapipe: Any = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[Any]:
        # The hook around this method resets before the first sample, so that the method must not be a generator.
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _set_main_datapipe_valid_iterator_id(self) -> int:
        """Join the container's current iteration, or start a new one if this child already takes part in it; return the iteration's number.
        """
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting "
                    "the buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                )
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return main._valid_iterator_id

    def _check_valid_iterator_id(self, iterator_id: int | None) -> bool:
        return iterator_id == self._valid_iterator_id and iterator_id == self.main_datapipe._valid_iterator_id


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Returns a list of ``num_instances`` datapipes; ``classifier_fn`` returns the index of the one that receives a sample.

    Samples of class None are dropped with ``drop_none``. Up to ``buffer_size`` samples are buffered in all, -1 for any number; beyond that
    BufferError is raised. Iteration raises ValueError for other classes.

    (functional name: ``demux``)
    """

    def __new__(
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _check_instances(num_instances)
        _check_unpickable_fn(classifier_fn)
        container = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(container, number) for number in range(num_instances)]


class _DemultiplexerIterDataPipe(PartlyKept, IterDataPipe[Any], _ContainerTemplate):
    """The state shared by the children of a demux: the source's iterator, and each child's buffered samples."""

    def __init__(
        self, datapipe: IterDataPipe[Any], num_instances: int, classifier_fn: Callable[[Any], int | None], drop_none: bool, buffer_size: int
    ) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        _warn_unlimited("demux", buffer_size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none
        self._start()

    def _start(self) -> None:
        self._datapipe_iterator: Iterator[Any] | None = None
        self.current_buffer_usage = 0
        self.child_buffers: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self._child_stop = [True] * self.num_instances
        self.main_datapipe_exhausted = False

    def _find_next(self, instance_id: int) -> int:
        """Read until the next sample of the child, buffering the others'. Raise StopIteration at the end."""
        while True:
            if self.main_datapipe_exhausted or self._child_stop[instance_id]:
                raise StopIteration
            if self._datapipe_iterator is None:
                raise ValueError(
                    "_datapipe_iterator has not been set, likely because this private method is called directly "
                    "without invoking get_next_element_by_instance() first."
                )
            value = next(self._datapipe_iterator)
            kind = self.classifier_fn(value)
            if kind is None and self.drop_none:
                StreamWrapper.close_streams(value)
                continue
            if kind is None or not 0 <= kind < self.num_instances:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {self.num_instances - 1}. "
                    f"{kind} is returned."
                )
            if kind == instance_id:
                return value
            self.child_buffers[kind].append(value)
            self.current_buffer_usage += 1
            if 0 <= self.buffer_size < self.current_buffer_usage:
                raise BufferError(
                    f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient."
                )

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """Iterate over the samples of the child's class."""
        if self._datapipe_iterator is None and self._child_stop[instance_id]:
            self._datapipe_iterator = iter(self.main_datapipe)
            self._snapshot_state = _SnapshotState.Iterating
            self.main_datapipe_exhausted = False
            self._child_stop = [False] * self.num_instances
        try:
            while not self._child_stop[instance_id]:
                if self.child_buffers[instance_id]:
                    self.current_buffer_usage -= 1
                    yield self.child_buffers[instance_id].popleft()
                    continue
                try:
                    value = self._find_next(instance_id)
                except StopIteration:
                    self.main_datapipe_exhausted = True
                    self._datapipe_iterator = None
                    return
                yield value
        finally:
            self._child_stop[instance_id] = True
            if all(self._child_stop):
                self._datapipe_iterator = None
            self._cleanup(instance_id)

    def is_every_instance_exhausted(self) -> bool:
        """Return whether the source and all children are exhausted."""
        return self.main_datapipe_exhausted and all(self._child_stop)

    def get_length_by_instance(self, instance_id: int) -> int:
        """Raise TypeError: the classes of samples are not known before they are read."""
        raise TypeError

    def reset(self) -> None:
        """Restart the iteration."""
        self._start()

    _kept = ("main_datapipe", "num_instances", "buffer_size", "classifier_fn", "drop_none", *PASS)

    def _restored(self) -> None:
        self._start()

    def _cleanup(self, instance_id: int | None = None) -> None:
        for waiting in self.child_buffers if instance_id is None else [self.child_buffers[instance_id]]:
            while waiting:
                StreamWrapper.close_streams(waiting.popleft())

    def __del__(self) -> None:
        if "child_buffers" in self.__dict__:  # not if the constructor raised
            self._cleanup()


@functional_datapipe("mux")
class MultiplexerIterDataPipe(PartlyKept, IterDataPipe[Any]):
    """Yields one sample of each datapipe in rotation, until one of the datapipes is exhausted.

    (functional name: ``mux``)
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes
        self.buffer: list[Any] = []  # a round is yielded once all datapipes have yielded their sample

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(pipe) for pipe in self.datapipes]
        while iterators:
            for iterator in iterators:
                try:
                    self.buffer.append(next(iterator))
                except StopIteration:
                    self.buffer.clear()
                    return
            yield from self.buffer
            self.buffer.clear()

    def __len__(self) -> int:
        return min(lengths_of(self.datapipes, self)) * len(self.datapipes)

    def reset(self) -> None:
        """Clear the buffer."""
        self.buffer = []

    _kept = ("datapipes", *PASS)

    def _restored(self) -> None:
        self.buffer = []


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[tuple[_T_co]]):
    """Yields tuples of one sample of each datapipe, until one is exhausted. Raises TypeError if an argument is not a datapipe.

    (functional name: ``zip``)
    """

    datapipes: tuple[IterDataPipe[Any], ...]

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*[iter(pipe) for pipe in self.datapipes])

    def __len__(self) -> int:
        return min(lengths_of(self.datapipes, self))
