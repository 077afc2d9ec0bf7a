"""torch.distributed.fsdp: modules of which each process keeps a part (``fully_shard``).

The older FullyShardedDataParallel raises NotImplementedError.
"""
from __future__ import annotations

from ..._hook import missing as _missing
from . import fully_sharded_data_parallel
from ._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)
from .fully_sharded_data_parallel import BackwardPrefetch, FullyShardedDataParallel, ShardingStrategy, StateDictType

__all__ = [
    "BackwardPrefetch", "CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy", "OffloadPolicy",
    "ShardingStrategy", "StateDictType", "UnshardHandle", "fully_shard", "fully_sharded_data_parallel",
    "register_fsdp_forward_method",
]  # fmt: skip

__getattr__ = _missing(__name__)
