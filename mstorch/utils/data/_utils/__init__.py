"""torch.utils.data._utils: the parts of a loader by the names that packages import."""

from .._worker import CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from . import collate, fetch, pin_memory, worker

__all__ = ["MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "worker"]
