"""torch.utils.data._utils.fetch: fetching and collating samples."""

from .._fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher

__all__ = ["_BaseDatasetFetcher", "_IterableDatasetFetcher", "_MapDatasetFetcher"]
