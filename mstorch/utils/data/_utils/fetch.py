"""torch.utils.data._utils.fetch: fetching and collating samples."""

from __future__ import annotations

from .._fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher

__all__ = ["_BaseDatasetFetcher", "_IterableDatasetFetcher", "_MapDatasetFetcher"]
