"""torch.distributed.elastic: what launched programs import of it."""
from . import multiprocessing

__all__ = ["multiprocessing"]
