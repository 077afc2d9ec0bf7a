"""torch.distributed.checkpoint.api: CheckpointException."""
from . import CheckpointException

__all__ = ["CheckpointException"]
