"""A sampler that shards the indices over ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from ..._src.core.above import above
from ..._src.ops.random.random import randperm
from ...random import Generator
from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class DistributedSampler(Sampler[_T_co]):
    """Yields the indices of one process: every ``num_replicas``-th index, starting at ``rank``, of an order that is the same on all ranks.

    The order is drawn from ``seed`` + epoch, so call ``set_epoch`` before each epoch. The shards are made equal by repeating the first
    indices, or with ``drop_last`` by dropping the last. ``num_replicas`` and ``rank`` default to the process group's. Raises ValueError for
    a rank out of range, and without a process group."""

    def __init__(
        self,
        dataset: Dataset[Any],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            if above.processes is None:  # torch.distributed is not loaded
                raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
            num_replicas = above.processes.get_world_size() if num_replicas is None else num_replicas
            rank = above.processes.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        length = len(dataset)  # type: ignore[arg-type]
        if drop_last and length % num_replicas != 0:
            self.num_samples = math.ceil((length - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(length / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[_T_co]:
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(length, generator=generator).tolist()
        else:
            indices = list(range(length))
        missing = self.total_size - len(indices)
        if missing > 0:
            indices += (indices * math.ceil(missing / length))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that the next order is drawn from."""
        self.epoch = epoch
