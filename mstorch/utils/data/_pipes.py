"""DataLoader's handling of datapipes: shuffling, one seed for all processes, sharding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.core.above import above
from ..._src.core.dtype import int64
from ..._src.ops.memory.creation import empty
from ...random import Generator
from .datapipes.datapipe import (
    IterDataPipe,
    MapDataPipe,
    _IterDataPipeSerializationWrapper,
    _MapDataPipeSerializationWrapper,
)
from .graph_settings import apply_random_seed, apply_sharding


def wrapped(dataset: Any) -> Any:
    """Wrap a datapipe so that it can be pickled with lambdas; return any other dataset unchanged."""
    if isinstance(dataset, IterDataPipe):
        return _IterDataPipeSerializationWrapper(dataset)
    return _MapDataPipeSerializationWrapper(dataset) if isinstance(dataset, MapDataPipe) else dataset


def is_pipe(dataset: Any) -> bool:
    """Return whether a dataset is an IterDataPipe or a MapDataPipe."""
    return isinstance(dataset, IterDataPipe | MapDataPipe)


def _distributed() -> Any:
    """Return torch.distributed if it is imported and initialized, else None; this function does not import it, because that takes time."""
    module = above.processes
    return module if module is not None and module.is_initialized() else None


def world() -> tuple[int, int]:
    """Return (world size, rank)."""
    group = _distributed()
    return (1, 0) if group is None else (group.get_world_size(), group.get_rank())


def new_group() -> Any:
    """Return a process group for exchanging seeds; None if distributed is not initialized."""
    group = _distributed()
    return None if group is None else group.new_group(backend="gloo")


def draw_shared_seed(generator: Generator | None, group: Any) -> int:
    """Return a seed drawn from ``generator``; with a process group, the seed that rank 0 drew."""
    seed = empty((), dtype=int64).random_(generator=generator)
    if group is not None:
        _distributed().broadcast(seed, src=0, group=group)
    return int(seed.item())


def reseed(dataset: IterDataPipe[Any], seed: int) -> None:
    """Reseed the random datapipes of a graph."""
    generator = Generator()
    generator.manual_seed(seed)
    apply_random_seed(dataset, generator)


def prepare_worker(
    dataset: Any, worker: int, workers: int, processes: tuple[int, int], init: Callable[[int], None] | None
) -> None:
    """Shard a datapipe for the worker, first over processes, then over workers; then call the user's ``worker_init_fn``."""
    if is_pipe(dataset):
        count, rank = processes
        apply_sharding(dataset, workers * count, worker * count + rank)
    if init is not None:
        init(worker)
