"""torch.mtia: Meta's accelerators, on which MindSpore does not run; functions behave as torch's without one."""
from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from .._src.core.device import _NOT_COMPILED
from .._src.devices.faces import NoSwitch, dummy, faces
from .._src.hook import missing as _missing
from .._tensor import Tensor


def _needs_mtia(name: str) -> RuntimeError:
    return RuntimeError(f"Cannot execute {name}() without MTIA backend.")


_NO = AssertionError(f"Torch not compiled with MTIA enabled{_NOT_COMPILED['mtia']}")
_made = faces(
    __name__,
    (_NO, "init(); get_rng_state(device='mtia'); initial_seed()"),
    (False, "is_available(); is_initialized()"),
    (0, "device_count(); max_memory_allocated(device=None); memory_allocated(device=None)"),
    (_needs_mtia("getCurrentDevice"), "synchronize(device=None); current_device(); current_stream(device=None); "
     "default_stream(device=None); get_device_capability(device=None); get_device_properties(device=None); stream(stream)"),
    ({}, "memory_stats(device=None)"),
    (None, "reset_peak_memory_stats(device=None); record_memory_history(enabled='all', stacks='python', max_entries=0); "
     "set_stream(stream); manual_seed(seed); manual_seed_all(seed); seed(); seed_all()"),
    (_needs_mtia("memorySnapshot"), "snapshot()"),
    (_needs_mtia("attachOutOfMemoryObserver"), "attach_out_of_memory_observer(observer)"),
    (_needs_mtia("emptyCache"), "empty_cache()"),
    (_needs_mtia("setCurrentDevice"), "set_device(device)"),
    ([], "get_rng_state_all()"),
    (True, "is_bf16_supported(including_emulation=True)"),
    (_needs_mtia("graphPoolHandle"), "graph_pool_handle()"),
)  # fmt: skip
globals().update(_made)
MTIAGraph = dummy(__name__, "MTIAGraph", _needs_mtia("mtiagraphCreate"))
graph = dummy(__name__, "graph", _needs_mtia("mtiagraphCreate"))


class device(NoSwitch):
    """Context manager that selects a device; without effect, as there is none."""


def set_rng_state(new_state: Tensor, device: Any = "mtia") -> None:
    """Do nothing without a device, as in torch."""


def set_rng_state_all(new_states: list[Tensor]) -> None:
    """Do nothing without a device, as in torch."""


__all__ = [*_made, "MTIAGraph", "device", "graph", "set_rng_state", "set_rng_state_all"]

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("memory", "mtia_graph"))
