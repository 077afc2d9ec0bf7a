"""torch.npu.memory: statistics of MindSpore's device memory pool; zeros without a device."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .._src.backend import runtime, streams
from .._src.core.device import device, index_of


def _available() -> bool:
    return runtime.device_type() != "cpu"


def _check(device: Any) -> None:
    """Raise RuntimeError for a device other than the process's."""
    if _available():
        index_of(device)


def _stats() -> dict[str, int]:
    return streams.memory_stats() if _available() else {}


def empty_cache() -> None:
    """Release the device's unused cached memory."""
    if _available():
        runtime.empty_cache()


empty_virt_addr_cache = empty_cache


def memory_allocated(device: int | str | device | None = None) -> int:
    """Return the bytes allocated by tensors on the device."""
    _check(device)
    return runtime.memory_allocated() if _available() else 0


def max_memory_allocated(device: int | str | device | None = None) -> int:
    """Return the peak of the bytes allocated by tensors on the device."""
    _check(device)
    return runtime.max_memory_allocated() if _available() else 0


def memory_reserved(device: int | str | device | None = None) -> int:
    """Return the bytes reserved by the pool on the device."""
    _check(device)
    return _stats().get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: int | str | device | None = None) -> int:
    """Return the peak of the bytes reserved by the pool on the device."""
    _check(device)
    return _stats().get("reserved_bytes.all.peak", 0)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def memory_stats(device: int | str | device | None = None) -> OrderedDict[str, int]:
    """Return the statistics of MindSpore's memory pool under torch's names; statistics that the pool does not have are left out."""
    _check(device)
    return OrderedDict(sorted(_stats().items()))


def memory_stats_as_nested_dict(device: int | str | device | None = None) -> dict[str, Any]:
    """Return ``memory_stats`` as nested dicts, split at the dots of the names."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *rooms, last = name.split(".")
        place = nested
        for room in rooms:
            place = place.setdefault(room, {})
        place[last] = value
    return nested


def memory_summary(device: int | str | device | None = None, abbreviated: bool = False) -> str:
    """Return MindSpore's memory statistics as a formatted table."""
    _check(device)
    return streams.memory_summary() if _available() else ""


def reset_peak_memory_stats(device: int | str | device | None = None) -> None:
    """Reset the peak statistics."""
    _check(device)
    if _available():
        streams.reset_peaks()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def mem_get_info(device: int | str | device | None = None) -> tuple[int, int]:
    """Return the free and the total memory in bytes. Raise NotImplementedError if MindSpore does not report the device's size."""
    if not _available():
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")
    _check(device)
    return streams.memory_info()


__all__ = [
    "empty_cache", "empty_virt_addr_cache", "memory_stats_as_nested_dict",
    "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_cached", "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats",
]  # fmt: skip
