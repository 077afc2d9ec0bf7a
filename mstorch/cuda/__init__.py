"""torch.cuda: what there is to say of GPUs, or of the Ascend device where cuda means npu. Without one, scripts that ask are told so."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._backend import binding, runtime
from .._core import cuda_names as _cuda_names
from .._core.device import device as _device
from .._core.device import index_of as _index_of
from .._core.generator import device_generator, seed_devices
from .._core.no_memory import OutOfMemoryError as OutOfMemoryError
from .._devices import no_cuda as _no_cuda
from .._devices.as_npu import AsNpu as _AsNpu
from .._devices.faces import NoSwitch as _NoSwitch
from .._devices.faces import StreamContext as _StreamContext
from .._hook import missing_attribute as _missing_attribute
from . import amp as amp
from . import sparse as sparse


def is_available() -> bool:
    """Return whether MindSpore computes on a GPU, or on the Ascend device that cuda means."""
    _cuda_names.tell()
    return device_count() > 0


def _is_there() -> bool:
    return _cuda_names.is_there()


def device_count() -> int:
    """Return the GPUs that MindSpore sees."""
    return binding.count() if _is_there() else 0


def is_initialized() -> bool:
    """Return whether a GPU is in use."""
    return _is_there() and (binding.is_used() or runtime.device_type() == "cuda")


def _require() -> None:
    if not _is_there():
        raise AssertionError("Torch not compiled with CUDA enabled")


def init() -> None:
    """Start using the GPU; raises if there is none."""
    _require()


def current_device() -> int:
    """Return the index of the GPU in use."""
    _require()
    return binding.index()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether the GPU computes in bfloat16."""
    return _is_there()


def get_device_name(device: Any = None) -> str:
    """Return the name of a GPU."""
    _require()
    return runtime.device_name(_index_of(device))


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has done what it was given."""
    _require()
    runtime.synchronize()


def empty_cache() -> None:
    """Give unused GPU memory back; nothing to give without a GPU."""
    if _is_there():
        runtime.empty_cache()


def manual_seed(seed: int) -> None:
    """Seed the GPU's generator; ignored without a GPU, as in torch."""
    seed_devices(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; ignored without a GPU, as in torch."""
    seed_devices(int(seed))


def seed() -> None:
    """Seed the GPU's generator from the operating system; ignored without a GPU, as in torch."""
    if _is_there():
        device_generator().seed()


def seed_all() -> None:
    """Seed the generators of all GPUs alike from the operating system; ignored without a GPU, as in torch."""
    seed()


def initial_seed() -> int:
    """Return the seed of the GPU's generator."""
    _require()
    return device_generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """Return the state of the GPU's generator, a uint8 tensor of 16 bytes."""
    _require()
    return device_generator().get_state()


def get_rng_state_all() -> list[Any]:
    """Return the states of all GPUs' generators; without a GPU none."""
    return [get_rng_state()] if _is_there() else []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Restore the state of the GPU's generator; ignored without a GPU, as in torch."""
    if _is_there():
        device_generator().set_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the states that ``get_rng_state_all`` gave."""
    for state in new_states:
        set_rng_state(state)


def memory_allocated(device: Any = None) -> int:
    """Return bytes that tensors take on the GPU; 0 without one."""
    return runtime.memory_allocated() if _is_there() else 0


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors took on the GPU; 0 without one."""
    return runtime.max_memory_allocated() if _is_there() else 0


# What only says that there is no GPU, or that MindSpore keeps it to itself
globals().update(_no_cuda.FUNCTIONS | _no_cuda.CLASSES)


def __getattr__(name: str) -> Any:  # for type checkers also the names of the table
    if name == "_initialized":  # what copies of torch's checkpoint ask in place of ``is_initialized``
        return is_initialized()
    raise _missing_attribute("mstorch.cuda", name)


default_generators: tuple[Any, ...] = ()
has_half, has_magma = True, False


class CudaError(RuntimeError):
    """An error code of CUDA."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code})")


class DeferredCudaCallError(Exception):
    """An error of a call that waited for the GPU."""


class cudaStatus:
    """Codes that CUDA's functions return."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


class device(_NoSwitch, metaclass=_AsNpu):
    """Compute on another GPU inside of a ``with`` block; without one, on the same device."""


class device_of(device):
    """Compute on the GPU of a tensor; without one, on the same device."""


def set_device(device: Any) -> None:
    """Choose the GPU in use; raises without one, a negative index changes nothing."""
    index = device if isinstance(device, int) else None if device is None else _device(device).index
    if index is None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if index >= 0:
        if not _is_there():
            raise AttributeError("module 'torch._C' has no attribute '_cuda_setDevice'")
        binding.choose(index)


class StreamContext(_StreamContext, metaclass=_AsNpu):
    """Work in a stream; without a GPU, of None only."""


def stream(stream: Any) -> StreamContext:
    """Work in a stream; without a GPU nothing changes."""
    return StreamContext(stream)


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Raises when it is entered: MindSpore keeps its allocator to itself."""
    raise AttributeError("module 'torch._C' has no attribute '_cuda_cudaCachingAllocator_is_enabled'")
    yield


@contextlib.contextmanager
def use_mem_pool(pool: Any, device: Any = None) -> Iterator[None]:
    """Raises when it is entered: MindSpore keeps its memory to itself."""
    _require()
    raise NotImplementedError("mstorch: MindSpore keeps its memory pools to itself")
    yield


def _is_compiled() -> bool:
    """Return whether MindSpore is built for GPUs and computes on one."""
    return _is_there()


def _is_in_bad_fork() -> bool:
    """Return whether a child process asks for a GPU of its parent."""
    return False


_lazy_init = init


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Call a function once CUDA is initialised: now if it is, else never, as there is no CUDA to initialise."""
    if is_initialized():
        callable()


from . import graphs, memory, nvtx, random, streams  # noqa: E402, F401 - they take names from above
