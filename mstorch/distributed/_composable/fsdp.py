"""torch.distributed._composable.fsdp: the deprecated location of fully_shard."""
from ..fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard

__path__: list[str] = []  # modules below this one are in _src/unbuilt/modules.txt
__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard"]
