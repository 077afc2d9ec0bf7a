"""torch.distributed.checkpoint.utils: the exception of checkpoints."""
from __future__ import annotations

from . import CheckpointException

__all__ = ["CheckpointException"]
