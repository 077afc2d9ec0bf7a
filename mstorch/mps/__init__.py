"""torch.mps: Apple's GPUs, on which MindSpore does not run; functions behave as torch's without one."""
from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._src.devices.faces import dummy, faces
from .._src.hook import missing as _missing


def _needs_mps(name: str) -> RuntimeError:
    return RuntimeError(f"Cannot execute {name}() without MPS backend.")


_made = faces(
    __name__,
    (RuntimeError("MPS is not available"), "compile_shader(source); load_metallib(source)"),
    (0, "device_count()"),
    (False, "is_available()"),
    (None, "manual_seed(seed)"),
    (_needs_mps("getDefaultGenerator"), "get_rng_state(device='mps'); seed(); set_rng_state(new_state, device='mps')"),
    (_needs_mps("deviceSynchronize"), "synchronize()"),
    (_needs_mps("emptyCache"), "empty_cache()"),
    (_needs_mps("setMemoryFraction"), "set_per_process_memory_fraction(fraction)"),
    (_needs_mps("getCurrentAllocatedMemory"), "current_allocated_memory()"),
    (_needs_mps("getDriverAllocatedMemory"), "driver_allocated_memory()"),
    (_needs_mps("getRecommendedMaxMemory"), "recommended_max_memory()"),
)
globals().update(_made)
if _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any: ...  # the names in the table
Event = dummy(__name__, "Event", _needs_mps("acquireEvent"))
__all__ = [*_made, "Event"]

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("event",))
