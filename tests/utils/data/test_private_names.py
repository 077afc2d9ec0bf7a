"""Private names of torch.utils.data that packages import."""
from __future__ import annotations

import collections
import importlib
import types
from typing import Any

import numpy as np
import pytest
import torch.utils.data._utils.fetch

import mstorch.utils.data._utils

FUNCTIONS = [
    "collate_tensor_fn", "collate_float_fn", "collate_int_fn", "collate_numpy_array_fn", "collate_numpy_scalar_fn", "collate_str_fn",
    "default_collate", "default_convert", "np_str_obj_array_pattern", "default_collate_fn_map",
]  # fmt: skip


def _uses(library) -> list:
    data = library.utils.data
    collate, fetch, worker = data._utils.collate, data._utils.fetch, data._utils.worker
    assert all(hasattr(collate, name) for name in FUNCTIONS)
    assert worker.get_worker_info() is worker._worker_info is None
    assert issubclass(data.dataloader._MultiProcessingDataLoaderIter, data.dataloader._BaseDataLoaderIter)
    assert isinstance(iter(data.DataLoader([1, 2])), data.dataloader._SingleProcessDataLoaderIter)
    found = [
        collate.collate_tensor_fn([library.ones(2), library.zeros(2)]).tolist(),
        collate.collate_float_fn([1.0, 2.0]).dtype, collate.collate_int_fn([1, 2]).dtype,
        collate.collate_numpy_scalar_fn([np.float32(1), np.float32(2)]).tolist(), collate.collate_str_fn(["a", "b"]),
        bool(collate.np_str_obj_array_pattern.search("<U3")), bool(collate.np_str_obj_array_pattern.search("<f4")),
        collate.collate([(1, "a"), (2, "b")], collate_fn_map=collate.default_collate_fn_map)[1],
        fetch._MapDatasetFetcher([5, 6, 7], True, list, False).fetch([0, 2]),
        fetch._IterableDatasetFetcher([5, 6, 7], True, list, False).fetch([None, None]),
    ]  # fmt: skip
    return [str(item) for item in found]


@pytest.mark.parametrize("seed, worker", [(0, 0), (1234, 3), (2**63 - 1, 17), (8_765_432_109_876, 1)])
def test_numpys_seed_of_a_worker(both: Any, seed: int, worker: int) -> None:
    both(lambda library: library.utils.data._utils.worker._generate_state(seed, worker))


def test_parts_of_a_loader() -> None:
    assert _uses(mstorch) == _uses(torch)


def test_pinned_batches(both: Any) -> None:
    """The tensors in a batch are pinned, in containers of the same types."""

    class Pinned:
        def pin_memory(self) -> str:
            return "pinned"

    class Noted(dict):
        note = ""

    class Row(tuple):
        __slots__ = ()

    Pair = collections.namedtuple("Pair", "a b")

    def body(torch: Any) -> Any:
        pin = importlib.import_module(f"{torch.__name__}.utils.data._utils.pin_memory").pin_memory
        noted = Noted(a=Pinned())
        noted.note = "kept"
        batches = [
            [Pinned(), 1], (Pinned(), 2), Row((Pinned(), 3)), Pair(Pinned(), 3), {"a": [Pinned()]}, "abc", 5, None, range(3),
            collections.OrderedDict(a=Pinned()), types.MappingProxyType({"a": Pinned()}), collections.deque([Pinned()]),
        ]  # fmt: skip
        return [(type(found).__name__, str(found)) for found in map(pin, batches)], pin(noted).note

    both(body)


def test_the_state_of_workers_has_torchs_names(both: Any) -> None:
    def run(library: Any) -> list[Any]:
        found = []
        for count, workers, ahead in ((9, 2, 2), (3, 2, 4), (8, 3, 1)):
            batches = iter(library.utils.data.DataLoader(list(range(count)), num_workers=workers, prefetch_factor=ahead))
            for _ in range(3):
                next(batches)
                found.append((batches._send_idx, batches._rcvd_idx, sorted(batches._task_info), batches._num_yielded, list(batches._workers_status)))
            assert batches._tasks_outstanding <= len(batches._task_info) and len(batches._workers) == len(batches._index_queues) == workers
            found.append([type(next(batches)).__name__ for _ in range(count - 3)])
            batches._shutdown_workers()
        return found

    both(run)
