"""torch.multiprocessing.pool: Python's pool, whose queues hand tensors over in shared memory already."""
from __future__ import annotations

import gc
import multiprocessing.pool
from typing import Any


def clean_worker(*args: Any, **kwargs: Any) -> None:
    """A pool's worker, which lets go of what it had at its end."""
    multiprocessing.pool.worker(*args, **kwargs)  # type: ignore[attr-defined]
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """A pool of processes."""
