"""torch.distributed.elastic: the names that launched programs import."""
from . import multiprocessing

__all__ = ["multiprocessing"]
