"""torch.distributed.elastic.utils.data.cycling_iterator: one iterator over several epochs."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class CyclingIterator(Iterator[T], Generic[T]):
    """The elements of ``generator_fn(epoch)`` for the epochs from ``start_epoch`` to ``n - 1``, one after another; at least one epoch."""

    def __init__(self, n: int, generator_fn: Callable[[int], Iterator[T]], start_epoch: int = 0) -> None:
        self._n, self._epoch, self._generator_fn = n, start_epoch, generator_fn
        self._iter = generator_fn(start_epoch)

    def __next__(self) -> T:
        while True:
            for element in self._iter:
                return element
            if self._epoch >= self._n - 1:
                raise StopIteration
            self._epoch += 1
            self._iter = self._generator_fn(self._epoch)


__all__ = ["CyclingIterator"]
