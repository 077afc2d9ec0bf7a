"""torch.distributed._composable: the deprecated location of fully_shard."""
from . import fsdp
from .fsdp import fully_shard

__all__ = ["fsdp", "fully_shard"]
