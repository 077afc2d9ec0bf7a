"""torch.utils.data._utils.fetch: samples of a dataset, collated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._worker import fetch_at, fetch_next


class _BaseDatasetFetcher:
    """Fetches what an index, or a list of them, stands for."""

    _make: Callable[..., Callable[[Any], Any]]

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self._fetch = type(self)._make(dataset, auto_collation, collate_fn, drop_last)

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the collated data; StopIteration where an iterable dataset has no more."""
        return self._fetch(possibly_batched_index)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    _make = staticmethod(fetch_at)


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    _make = staticmethod(fetch_next)
