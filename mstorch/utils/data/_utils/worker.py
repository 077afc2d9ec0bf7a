"""torch.utils.data._utils.worker: what a worker process knows of itself."""

from typing import Any

from .._worker import CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from .._worker import WorkerInfo, get_worker_info
from .._worker import numpy_seed as _generate_state

__all__ = ["MP_STATUS_CHECK_INTERVAL", "WorkerInfo", "_generate_state", "get_worker_info"]


def __getattr__(name: str) -> Any:
    if name == "_worker_info":
        return get_worker_info()
    raise AttributeError(f"module 'torch.utils.data._utils.worker' has no attribute {name!r}")
