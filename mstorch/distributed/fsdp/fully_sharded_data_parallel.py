"""torch.distributed.fsdp.fully_sharded_data_parallel: the older way to keep parts of a module, which is not here."""
from __future__ import annotations

import enum
from typing import Any, NoReturn

from ..._hook import not_yet


class StateDictType(enum.Enum):
    """What the older way's states hold."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


class ShardingStrategy(enum.Enum):
    """What the older way spreads."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When the older way puts parameters together."""

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class FullyShardedDataParallel:
    """Raises NotImplementedError: ``fully_shard`` takes its place."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"mstorch: FullyShardedDataParallel: use torch.distributed.fsdp.fully_shard {not_yet()}")


__all__ = ["BackwardPrefetch", "FullyShardedDataParallel", "ShardingStrategy", "StateDictType"]
