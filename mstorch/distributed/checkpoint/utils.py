"""torch.distributed.checkpoint.utils: the exception of checkpoints."""
from __future__ import annotations

from ..._src.hook import missing as _missing
from . import CheckpointException

__all__ = ["CheckpointException"]

__getattr__ = _missing(__name__)
