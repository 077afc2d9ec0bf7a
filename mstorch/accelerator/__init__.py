"""torch.accelerator: the accelerator on which MindSpore computes, if any."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from .._src.backend import binding, runtime, streams
from .._src.core import device as devices
from .._src.core.device import device as _device
from .._src.core.no_memory import tells_no_memory
from .._src.devices import npu_streams as _faces
from .._src.hook import missing as _missing

_NONE = "Cannot access accelerator device when none is available."
_index = int | str | _device | None


def is_available() -> bool:
    """Return whether MindSpore computes on an accelerator."""
    return runtime.device_type() != "cpu"


def current_accelerator(check_available: bool = False) -> _device | None:
    """Return the accelerator's device without an index; None on a CPU."""
    return _device(runtime.device_type()) if is_available() else None


def device_count() -> int:
    """Return the number of accelerators."""
    return binding.count()


def _require() -> None:
    if not is_available():
        raise RuntimeError(_NONE)


def current_device_index() -> int:
    """Return the index of the current accelerator; raise RuntimeError if there is none."""
    _require()
    return devices.current().index or 0


def set_device_index(device: int | str | _device, /) -> None:
    """Select the accelerator with an index; raise RuntimeError if the process is bound to another."""
    chosen = device if isinstance(device, int) else None if device is None else _device(device).index
    if chosen is None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if chosen < 0:
        return
    _require()
    binding.choose(chosen)


@tells_no_memory
def synchronize(device: int | str | _device | None = None, /) -> None:
    """Wait until the accelerator is idle; raise RuntimeError if there is none."""
    _require()
    runtime.synchronize()


def empty_cache() -> None:
    """Release the accelerator's cached memory; raise RuntimeError if there is none."""
    _require()
    runtime.empty_cache()


def memory_allocated(device_index: Any = None, /) -> int:
    """Return the bytes that tensors occupy; raise RuntimeError without an accelerator."""
    _require()
    return runtime.memory_allocated()


def max_memory_allocated(device_index: Any = None, /) -> int:
    """Return the peak bytes that tensors occupied; raise RuntimeError without an accelerator."""
    _require()
    return runtime.max_memory_allocated()


def _not_told(name: str) -> Callable[..., Any]:
    def function(device_index: Any = None, /) -> Any:
        _require()
        raise NotImplementedError(f"mstorch: MindSpore does not tell torch.accelerator.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise torch's error without an accelerator, NotImplementedError with one."
    return function


def empty_host_cache() -> None:
    """Release the host's cached memory; raise RuntimeError without an accelerator."""
    _require()
    runtime.empty_cache()


def current_stream(device: int | str | _device | None = None, /) -> Any:
    """Return the current stream of the accelerator; raise RuntimeError if there is none."""
    _require()
    return _faces.current_stream()


def set_stream(stream: Any, /) -> None:
    """Set the current stream; raise RuntimeError without an accelerator."""
    _require()
    _faces.set_stream(stream)


def memory_reserved(device_index: Any = None, /) -> int:
    """Return the bytes that the memory pool holds; raise RuntimeError without an accelerator."""
    _require()
    return int(streams.memory_stats()["reserved_bytes.all.current"])


def max_memory_reserved(device_index: Any = None, /) -> int:
    """Return the peak bytes that the memory pool held; raise RuntimeError without an accelerator."""
    _require()
    return int(streams.memory_stats()["reserved_bytes.all.peak"])


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """Return MindSpore's memory pool statistics by torch's names; raise RuntimeError without an accelerator."""
    _require()
    return OrderedDict(sorted(streams.memory_stats().items()))


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Reset the peak memory statistics; raise RuntimeError without an accelerator."""
    _require()
    streams.reset_peaks()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Return the free and the total bytes; raise RuntimeError without an accelerator."""
    _require()
    return streams.memory_info()


get_device_capability, reset_accumulated_memory_stats = map(_not_told, ("get_device_capability", "reset_accumulated_memory_stats"))
current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """Context manager that selects the accelerator with an index; None has no effect."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *error: object) -> None:
        return None


class Graph:
    """Recorded sequence of an accelerator's kernels; the constructor raises."""

    def __init__(self, keep_graph: bool = False, *, pool: tuple[int, int] | None = None) -> None:
        _require()
        raise NotImplementedError("mstorch: graphs come from torch.compile")


__all__ = [
    "Graph", "current_accelerator", "current_device_idx", "current_device_index", "get_device_capability", "current_stream",
    "device_count", "device_index", "empty_cache", "empty_host_cache", "get_memory_info", "is_available", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("graphs", "memory", "random"))
