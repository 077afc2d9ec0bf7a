"""torch.distributed.elastic.utils.data.elastic_distributed_sampler: a sampler that leaves out what has been seen."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

import mstorch as torch

from .....utils.data.distributed import DistributedSampler


class ElasticDistributedSampler(DistributedSampler[Any]):
    """Indices of one of several processes, in a random order of each epoch, from ``start_index`` on."""

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, start_index: int = 0) -> None:
        super().__init__(dataset, num_replicas, rank)
        if not isinstance(dataset, Sized):
            raise TypeError("Dataset must be an instance of collections.abc.Sized")
        if start_index >= len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index, self._left = start_index, len(dataset) - start_index
        self.num_samples = math.ceil(self._left / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        order = torch.randperm(self._left, generator=torch.Generator().manual_seed(self.epoch), device="cpu").add(self.start_index).tolist()
        order += order[: self.total_size - len(order)]  # so that each process gets the same number
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples


__all__ = ["ElasticDistributedSampler"]
