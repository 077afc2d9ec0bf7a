"""torch.distributed.constants: default timeouts."""
from __future__ import annotations

from datetime import timedelta

from ._settings import default_pg_timeout

default_pg_nccl_timeout: timedelta | None = None  # mstorch has no NCCL backend

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
