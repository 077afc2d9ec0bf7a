"""torch.distributed.fsdp._common_utils: names of parameters without those of the modules that wrap them."""
from __future__ import annotations

from ..algorithms._checkpoint.checkpoint_wrapper import _CHECKPOINT_PREFIX
from .fully_sharded_data_parallel import FSDP_WRAPPED_MODULE

FSDP_PREFIX = FSDP_WRAPPED_MODULE + "."


def clean_tensor_name(tensor_name: str) -> str:
    """Return the name of a parameter or buffer without the prefixes of FSDP and of checkpointed modules."""
    return tensor_name.replace(FSDP_PREFIX, "").replace(_CHECKPOINT_PREFIX, "")


__all__ = ["FSDP_PREFIX", "FSDP_WRAPPED_MODULE", "clean_tensor_name"]
