"""torch.distributed.checkpoint.api: the error of checkpoints."""
from . import CheckpointException

__all__ = ["CheckpointException"]
