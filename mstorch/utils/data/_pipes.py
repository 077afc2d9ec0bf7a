"""The work of a loader for a dataset that is a pipe: shuffling, one seed for all processes, each one's share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.above import above
from ..._core.dtype import int64
from ..._ops.memory.creation import empty
from ...random import Generator
from .datapipes.datapipe import (
    IterDataPipe,
    MapDataPipe,
    _IterDataPipeSerializationWrapper,
    _MapDataPipeSerializationWrapper,
)
from .graph_settings import apply_random_seed, apply_sharding


def wrapped(dataset: Any) -> Any:
    """Return a pipe in a wrapper that can be pickled with lambdas, any other dataset as it is."""
    if isinstance(dataset, IterDataPipe):
        return _IterDataPipeSerializationWrapper(dataset)
    return _MapDataPipeSerializationWrapper(dataset) if isinstance(dataset, MapDataPipe) else dataset


def is_pipe(dataset: Any) -> bool:
    """Return whether the dataset is a pipe of either kind."""
    return isinstance(dataset, IterDataPipe | MapDataPipe)


def _distributed() -> Any:
    """Return torch.distributed if there is a process group; without the package there is none, and it takes time to load."""
    module = above.processes
    return module if module is not None and module.is_initialized() else None


def world() -> tuple[int, int]:
    """Return the number of processes and the number of this one."""
    group = _distributed()
    return (1, 0) if group is None else (group.get_world_size(), group.get_rank())


def new_group() -> Any:
    """Return a group that all processes share their seeds in; None without a process group."""
    group = _distributed()
    return None if group is None else group.new_group(backend="gloo")


def draw_shared_seed(generator: Generator | None, group: Any) -> int:
    """Draw a seed and return that of the first process."""
    seed = empty((), dtype=int64).random_(generator=generator)
    if group is not None:
        _distributed().broadcast(seed, src=0, group=group)
    return int(seed.item())


def reseed(dataset: IterDataPipe, seed: int) -> None:
    """Give the random pipes of a pipe their seeds."""
    generator = Generator()
    generator.manual_seed(seed)
    apply_random_seed(dataset, generator)


def prepare_worker(
    dataset: Any, worker: int, workers: int, processes: tuple[int, int], init: Callable[[int], None] | None
) -> None:
    """Give the worker its share of a pipe, then call the user's function. Processes share first, then workers."""
    if is_pipe(dataset):
        count, rank = processes
        apply_sharding(dataset, workers * count, worker * count + rank)
    if init is not None:
        init(worker)
