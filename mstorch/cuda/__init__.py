"""torch.cuda: information on GPUs, or on the Ascend device if "cuda" is its alias; without either, is_available() is False."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.backend import binding, runtime
from .._src.core import cuda_names as _cuda_names
from .._src.core.cuda_names import is_there as _is_there
from .._src.core.device import device as _device
from .._src.core.device import index_of as _index_of
from .._src.core.generator import device_generator
from .._src.core.no_memory import OutOfMemoryError as OutOfMemoryError
from .._src.core.no_memory import tells_no_memory
from .._src.devices import no_cuda as _no_cuda
from .._src.devices.as_npu import AsNpu as _AsNpu
from .._src.devices.faces import NoSwitch as _NoSwitch
from .._src.devices.faces import StreamContext as _StreamContext
from .._src.devices.no_cuda import require as _require
from .._src.hook import missing as _missing
from . import amp as amp
from . import graphs as graphs
from . import nvtx as nvtx
from . import profiler as profiler
from . import sparse as sparse
from . import streams as streams
from . import tunable as tunable
from .memory import caching_allocator_disabled as caching_allocator_disabled
from .memory import empty_cache as empty_cache
from .memory import max_memory_allocated as max_memory_allocated
from .memory import memory_allocated as memory_allocated
from .memory import use_mem_pool as use_mem_pool
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all


def is_available() -> bool:
    """Return whether MindSpore computes on a GPU, or on the Ascend device of which "cuda" is an alias."""
    _cuda_names.tell()
    return device_count() > 0


def device_count() -> int:
    """Return the number of GPUs that MindSpore sees."""
    return binding.count() if _is_there() else 0


def is_initialized() -> bool:
    """Return whether a GPU is in use."""
    return _is_there() and (binding.is_used() or runtime.device_type() == "cuda")


def init() -> None:
    """Initialize the GPU; raise if there is none."""
    _require()


def current_device() -> int:
    """Return the index of the current GPU."""
    _require()
    return binding.index()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether the device supports bfloat16: an Ascend does, MindSpore's plugin for GPUs has no kernel of it."""
    return _is_there() and runtime.device_type() != "cuda"


def get_device_name(device: int | str | _device | None = None) -> str:
    """Return the name of a GPU."""
    _require()
    return runtime.device_name(_index_of(device))


@tells_no_memory
def synchronize(device: int | str | _device | None = None) -> None:
    """Wait until the GPU has completed all work."""
    _require()
    runtime.synchronize()


# Functions that only report that there is no GPU, or that MindSpore does not expose a feature
globals().update(_no_cuda.FUNCTIONS | _no_cuda.CLASSES)


_unknown = _missing("mstorch.cuda")


def __getattr__(name: str) -> Any:  # for type checkers also the names in the table
    if name == "_initialized":  # torch.utils.checkpoint and copies of it read it instead of ``is_initialized``
        return is_initialized()
    if name == "default_generators":
        return (device_generator(),) * device_count() if _is_there() else ()
    return _unknown(name)


has_half, has_magma = True, False


class CudaError(RuntimeError):
    """Raised for a CUDA error code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code})")


class DeferredCudaCallError(Exception):
    """Raised when a deferred CUDA call fails."""


class cudaStatus:
    """Status codes of CUDA functions."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


class device(_NoSwitch, metaclass=_AsNpu):
    """Context manager that selects a GPU. Without one, entering raises RuntimeError unless the index is negative."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.idx: int = -1 if device is None else device if isinstance(device, int) else _index_of_gpu(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")


def _index_of_gpu(named: Any) -> int:
    chosen = _device(named)
    if chosen.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {chosen}")
    return -1 if chosen.index is None else chosen.index


class device_of(device):
    """Context manager that selects the GPU of a tensor; no effect for other tensors."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else -1)


def set_device(device: int | str | _device | None) -> None:
    """Select the GPU. Raise if there is none, or no index is given; a negative index does nothing."""
    index = device if isinstance(device, int) else None if device is None else _device(device).index
    if index is None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if index >= 0:
        if not _is_there():
            raise AttributeError("module 'torch._C' has no attribute '_cuda_setDevice'")
        binding.choose(index)


class StreamContext(_StreamContext, metaclass=_AsNpu):
    """Context manager that selects a stream; without a GPU, only None is accepted."""


def stream(stream: Any) -> StreamContext:
    """Return a context manager that selects a stream; no-op without a GPU."""
    return StreamContext(stream)


def _is_compiled() -> bool:
    """Return whether MindSpore is built for GPUs and uses one."""
    return _is_there()


def _is_in_bad_fork() -> bool:
    """Return whether a forked child process uses its parent's GPU."""
    return False


_lazy_init = init


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Call a function once CUDA is initialized: now if it is, else never, because mstorch does not initialize CUDA later."""
    if is_initialized():
        callable()
