"""Fetching and collating samples, in this process or in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.core.formats import strided
from ..._src.ops.indexing.index import index_select
from ..._src.ops.memory.from_data import as_tensor
from ..._src.tape.ways import in_arrays
from ..._tensor import Tensor
from ._collate import collate_tensor_fn, default_collate, default_collate_fn_map
from .dataset import Subset, TensorDataset


class _BaseDatasetFetcher:
    """Fetches and collates the samples of an index or a list of indices."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the collated samples. Raise StopIteration if an iterable dataset is exhausted."""
        raise NotImplementedError


def _rows(dataset: Any, indices: list[Any]) -> list[Tensor] | None:
    """Return the samples of a TensorDataset in host memory as ``default_collate`` would return them, with one read of each tensor instead
    of one for each sample. Return None for any other dataset.
    """
    while type(dataset) is Subset:
        indices, dataset = [dataset.indices[index] for index in indices], dataset.dataset
    if type(dataset) is not TensorDataset or default_collate_fn_map.get(Tensor) is not collate_tensor_fn:
        return None
    for tensor in dataset.tensors:
        plain = type(tensor) is Tensor and in_arrays(tensor) and tensor.layout is strided and tensor.is_contiguous()
        if not plain or tensor.requires_grad:
            return None
    length = len(dataset)
    if not indices or not all(type(index) is int and 0 <= index < length for index in indices):
        return None
    positions = as_tensor(indices)
    return [index_select(tensor, 0, positions) for tensor in dataset.tensors]


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, possibly_batched_index: Any) -> Any:
        dataset, index = self.dataset, possibly_batched_index
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        rows = _rows(dataset, index) if self.collate_fn is default_collate else None
        if rows is not None:
            return rows
        if getattr(dataset, "__getitems__", None):
            return self.collate_fn(dataset.__getitems__(index))
        return self.collate_fn([dataset[i] for i in index])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        batch = []
        for _ in possibly_batched_index:  # not by islice, which calls iter() again: some iterators start again then
            try:
                batch.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True  # not called again: an iterator may continue after its end, but the loader must not
                break
        if not batch or (self.drop_last and len(batch) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(batch)
