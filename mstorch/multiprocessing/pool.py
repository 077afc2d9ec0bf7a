"""torch.multiprocessing.pool: Python's pool, whose queues pass tensors in shared memory already."""
from __future__ import annotations

import gc
import multiprocessing.pool
from typing import Any


def clean_worker(*args: Any, **kwargs: Any) -> None:
    """Run a pool's worker, and collect garbage at its end."""
    multiprocessing.pool.worker(*args, **kwargs)  # type: ignore[attr-defined]
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """Pool of processes."""
