"""torch_npu.multiprocessing.reductions: memory of the device is not shared between processes here."""
from __future__ import annotations

from typing import Any, NoReturn


def rebuild_npu_tensor(*args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: a tensor in another process's memory of the device."""
    raise NotImplementedError("mstorch: torch_npu.multiprocessing.reductions.rebuild_npu_tensor(): shared memory of the device")


__all__ = ["rebuild_npu_tensor"]
