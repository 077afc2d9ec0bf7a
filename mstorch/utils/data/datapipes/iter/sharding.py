"""A datapipe that shards: ``sharding_filter``."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils._lengths import length_of

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(IntEnum):
    """The order in which sharding groups apply: by ascending value; each shard of one group is sharded again by the next."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


class _ShardingIterDataPipe(IterDataPipe[Any]):
    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES) -> None:
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Yields every n-th sample from the i-th on, after ``apply_sharding(n, i)``.

    (functional name: ``sharding_filter``)
    """

    def __init__(self, source_datapipe: IterDataPipe[Any], sharding_group_filter: Any = None) -> None:
        super().__init__()
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self._update_num_of_instances()

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Keep one of ``num_of_instances`` shards; each sharding group shards the result of the groups before it.

        Raise ValueError for an id out of range, and RuntimeError if the default group is mixed with others.
        """
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (sharding_group == default) != (default in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        self._update_num_of_instances()

    def _update_num_of_instances(self) -> None:
        wanted = self.sharding_group_filter
        keys = [key for key in sorted(self.groups, reverse=True) if wanted is None or key == wanted]
        self.num_of_instances, self.instance_id = 1, 0
        for count, number in (self.groups[key] for key in keys):
            self.instance_id += self.num_of_instances * number
            self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        for number, item in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self) -> int:
        whole, rest = divmod(length_of(self.source_datapipe, self), self.num_of_instances)
        return whole + (self.instance_id < rest)
