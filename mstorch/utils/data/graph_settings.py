"""torch.utils.data.graph_settings: sharding, shuffling and seeds of all datapipes in a graph."""

from __future__ import annotations

import inspect
from typing import Any

from typing_extensions import deprecated

from ..._src.core.warned import warn
from ...random import Generator
from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .graph import DataPipe, DataPipeGraph, traverse_dps
from .sampler import _draw_seed

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[DataPipe]:
    """Return the unique datapipes of a graph, each before its sources."""
    pipes: list[DataPipe] = []
    _gather(graph, pipes, set())
    return pipes


def _gather(graph: DataPipeGraph, pipes: list[DataPipe], seen: set[int]) -> None:
    for number, (pipe, sources) in graph.items():
        if number not in seen:
            seen.add(number)
            pipes.append(pipe)
            _gather(sources, pipes, seen)


def _has_methods(datapipe: Any, *names: str) -> bool:
    return all(hasattr(datapipe, name) and inspect.ismethod(getattr(datapipe, name)) for name in names)


def _is_sharding_datapipe(datapipe: DataPipe) -> bool:
    return isinstance(datapipe, _ShardingIterDataPipe) or _has_methods(datapipe, "apply_sharding")


def _is_shuffle_datapipe(datapipe: DataPipe) -> bool:
    return _has_methods(datapipe, "set_shuffle", "set_seed")


def _is_random_datapipe(datapipe: DataPipe) -> bool:
    return _has_methods(datapipe, "set_seed")


def apply_sharding(
    datapipe: DataPipe,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> DataPipe:
    """Call ``apply_sharding`` on all datapipes of the graph that have it. Raise RuntimeError if one follows another."""
    _shard(traverse_dps(datapipe), num_of_instances, instance_id, sharding_group, None)
    return datapipe


def _shard(graph: DataPipeGraph, count: int, number: int, group: SHARDING_PRIORITIES, before: Any) -> None:
    for pipe, sources in graph.values():
        applied = before
        if _is_sharding_datapipe(pipe):
            if before is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {before} while trying to apply to {pipe}"
                )
            share: Any = pipe.apply_sharding
            # Datapipes from before sharding groups take two arguments.
            if len(inspect.signature(share).parameters) < 3:
                share(count, number)
            else:
                share(count, number, sharding_group=group)
            applied = pipe
        _shard(sources, count, number, group, applied)


def apply_shuffle_settings(datapipe: DataPipe, shuffle: bool | None = None) -> DataPipe:
    """Enable or disable all shufflers in the graph; None leaves them. Return the datapipe.

    If there is none and shuffling is requested, one is appended, with a warning, and returned.
    """
    if shuffle is None:
        return datapipe
    shufflers: list[Any] = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _is_shuffle_datapipe(pipe)]
    if shuffle and not shufflers:
        warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


@deprecated(
    "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
    "Please use `apply_random_seed` instead.",
    category=FutureWarning,
)
def apply_shuffle_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """Deprecated name of ``apply_random_seed``."""
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: DataPipe, rng: Generator | None) -> DataPipe:
    """Set the seed of each datapipe that has ``set_seed``, drawn from ``rng``. Return the datapipe."""
    pipes: list[Any] = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _is_random_datapipe(pipe)]
    for pipe in pipes:
        pipe.set_seed(_draw_seed(rng))
    return datapipe
