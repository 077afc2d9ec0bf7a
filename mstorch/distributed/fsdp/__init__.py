"""torch.distributed.fsdp: modules of which each process keeps a part (``fully_shard``).

The older FullyShardedDataParallel raises NotImplementedError.
"""
from __future__ import annotations

from typing import Any, NoReturn

from ..._hook import missing as _missing
from ..._hook import not_yet
from ._fully_shard import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard


class FullyShardedDataParallel:
    """Raises NotImplementedError: ``fully_shard`` takes its place."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"mstorch: FullyShardedDataParallel: use torch.distributed.fsdp.fully_shard {not_yet()}")


__all__ = ["CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard"]

__getattr__ = _missing(__name__)
