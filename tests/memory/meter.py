"""Peaks of the bytes that tensors hold during a function: torch's, mstorch's on the host, and mstorch's on the stand-in device."""
from __future__ import annotations

import gc
import math
import os
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch as real_torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mstorch._src.backend import device_memory, fake, primitives, raw
from mstorch._src.backend.raw import NAME_OF, NP_DTYPE, Raw

ON_DEVICE = bool(os.environ.get("MSTORCH_FAKE_DEVICE"))


class _Storages(TorchDispatchMode):
    """Adds up, after each operation, the bytes of the storages that are alive and were made since the beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, tuple[Any, int]] = {}
        self.peak = 0

    def add(self, value: Any) -> None:
        for leaf in tree_leaves(value):
            if isinstance(leaf, real_torch.Tensor) and leaf.layout is real_torch.strided:
                storage = leaf.untyped_storage()
                self.held[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())

    def now(self) -> int:
        self.held = {key: item for key, item in self.held.items() if not item[0].expired()}
        return sum(size for _, size in self.held.values())

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        self.add(result)
        self.peak = max(self.peak, self.now())
        return result


class Peak:
    """The peak of a block, in bytes."""

    bytes = 0


@contextmanager
def of_torch(*held: Any) -> Iterator[Peak]:
    """Measure torch; ``held`` are the tensors that exist already and count."""
    peak, mode = Peak(), _Storages()
    mode.add(held)
    gc.collect()
    with mode:
        yield peak
    peak.bytes = mode.peak


@contextmanager
def of_host(*held: Any) -> Iterator[Peak]:
    """Measure the memory that Python and NumPy allocate; the tensors held before count if they were made under ``watched``."""
    peak = Peak()
    gc.collect()
    tracemalloc.reset_peak()
    yield peak
    peak.bytes = tracemalloc.get_traced_memory()[1]


def _size(one: Any) -> int:
    return math.prod(one.shape) * NP_DTYPE[NAME_OF[one.dtype]].itemsize


class _Raws:
    """Weak references to MindSpore's tensors that kernels and copies return."""

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}

    def add(self, result: Any) -> Any:
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, Raw):
                self.held[id(one)] = weakref.ref(one)
        return result

    def now(self) -> int:
        """Return the bytes of all memory that a tensor holds now."""
        self.held = {key: item for key, item in self.held.items() if item() is not None}
        memories = {id(whole): whole for whole in (device_memory.memory_of(item()) for item in self.held.values())}
        self.held.update((key, weakref.ref(whole)) for key, whole in memories.items())
        return sum(map(_size, memories.values()))


@contextmanager
def watched_device() -> Iterator[_Raws]:
    """Watch the memory of the stand-in device."""
    found, below, host = _Raws(), primitives.watchers[-1], raw._from_numpy
    primitives.watchers.append(lambda name, primitive, args: found.add(below(name, primitive, args)))
    raw._from_numpy = lambda array: found.add(host(array))
    try:
        yield found
    finally:
        primitives.watchers.pop()
        raw._from_numpy = host


@contextmanager
def of_device(raws: _Raws) -> Iterator[Peak]:
    """Measure the memory of a watched stand-in device after each kernel."""
    peak = Peak()

    def look(_: str = "") -> None:
        peak.bytes = max(peak.bytes, raws.now())

    fake.on_kernel.append(look)
    try:
        yield peak
    finally:
        fake.on_kernel.remove(look)


def peak(torch: Any, make: Callable[[Any], tuple[Callable[[], Any], Any]], steps: int = 3) -> int:
    """Return the peak of the third call of the function that ``make(torch)`` returns, with the tensors that it returns beside it."""
    gc.collect()
    if torch is real_torch:
        run, held = make(torch)
        for _ in range(steps - 1):
            run()
        with of_torch(*held()) as found:
            run()
        return found.bytes
    if ON_DEVICE:
        with watched_device() as raws:
            run, held = make(torch)
            for _ in range(steps - 1):
                run()
            gc.collect()
            with of_device(raws) as found:
                run()
    else:
        make(torch)[0]()  # what is made once per process does not count
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        run, held = make(torch)
        for _ in range(steps - 1):
            run()
        with of_host() as found:
            run()
        found.bytes -= before
        tracemalloc.stop()
    return found.bytes
