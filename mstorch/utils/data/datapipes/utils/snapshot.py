"""torch.utils.data.datapipes.utils.snapshot: restore the position of an earlier iteration."""

from __future__ import annotations

from typing import Any

from .....random import Generator
from ...graph_settings import apply_random_seed
from .._hook_iterator import _SnapshotState
from ..datapipe import IterDataPipe


def _simple_graph_snapshot_restoration(datapipe: IterDataPipe[Any], n_iterations: int, rng: Generator | None = None) -> None:
    """Fast-forward a datapipe graph by ``n_iterations``; the next ``iter()`` continues there.

    ``rng``, in its state at the start of the original iteration, seeds the shuffles. Raise RuntimeError if the datapipe was restored and
    not iterated since, or has too few samples.
    """
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError(
            "Snapshot restoration cannot be applied. You can only restore simple snapshot to the graph "
            "if your graph has not been restored."
        )
    datapipe.reset()
    apply_random_seed(datapipe, rng)
    iterator: Any = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(iterator)
        except StopIteration as error:
            raise RuntimeError(
                f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of samples available."
            ) from error
    datapipe._fast_forward_iterator = iterator
    # Otherwise the next `iter()` would reset the datapipe.
    datapipe._snapshot_state = _SnapshotState.Restored
