"""What packages import from the inside of torch.utils.data."""
from __future__ import annotations

import numpy as np
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


def test_parts_of_a_loader() -> None:
    assert _uses(mstorch) == _uses(torch)
