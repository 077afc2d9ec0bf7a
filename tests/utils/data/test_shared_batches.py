"""Batches that workers send in shared memory: values, batches that are kept or freed, views, and batches that do not fit."""

import gc
import os
import random
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch as reference

import mstorch
from mstorch.storage import untyped_over
from mstorch.utils.data import _shared

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*multi-threaded.*fork")]
LIBRARIES = (mstorch, reference)
ELEMENTS = 40_000  # of float32: a sample is too large to be sent through the pipe


class Filled:
    """Samples of one number, as tensors or arrays."""

    def __init__(self, torch, length, kind="tensor"):
        self.torch, self.length, self.kind = torch, length, kind

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.kind == "array":
            return np.full(ELEMENTS, index, np.float32)
        if self.kind == "dict":
            return {"x": self.torch.full((4, ELEMENTS // 4), float(index)).bfloat16(), "y": index}
        return self.torch.full((ELEMENTS,), float(index)), index


def _numbers(batch):
    if isinstance(batch, dict):
        return {key: _numbers(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_numbers(value) for value in batch]
    if not hasattr(batch, "dim"):
        return batch
    return str(batch.dtype), tuple(batch.shape), batch.stride(), batch.double().amin().item(), batch.double().amax().item()


@pytest.mark.parametrize("kind", ["tensor", "array", "dict"])
@pytest.mark.parametrize("options", [{"batch_size": 3}, {"batch_size": None}, {"batch_size": 2, "persistent_workers": True}])
def test_batches(kind, options):
    found = []
    for torch in LIBRARIES:
        loader = torch.utils.data.DataLoader(Filled(torch, 7, kind), num_workers=2, **options)
        found.append([[_numbers(batch) for batch in loader] for _ in range(2)])
    assert found[0] == found[1]


def test_batches_that_are_kept_stay_as_they_are(monkeypatch):
    """There is room for five batches; every second one is kept, changed and read much later."""
    monkeypatch.setattr(_shared, "SIZE", 5 * 2 * 4 * ELEMENTS)
    loader = mstorch.utils.data.DataLoader(Filled(mstorch, 60), 2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        kept = []
        for x, y in loader:
            assert x[:, 0].tolist() == y.tolist() == x[:, -1].tolist()
            if y[0] % 4 == 0:
                kept.append((x[1:].add_(0.5), x.numpy(), y))
        for x, array, y in kept:
            assert (x == y[1] + 0.5).all() and (array[0] == y[0].item()).all()


def test_parts_are_used_again():
    loader = mstorch.utils.data.DataLoader(Filled(mstorch, 40), 2, num_workers=1)
    iterator = iter(loader)
    places = set()
    for x, _ in iterator:
        places.add(x.data_ptr())
        del x
    assert len(places) <= 5


class Sized(Filled):
    """Batches that contain the size of the worker's private memory in MB."""

    def __getitem__(self, index):
        with open("/proc/self/status") as file:
            own = next(line for line in file if line.startswith("RssAnon"))
        return self.torch.full((25 * ELEMENTS,), float(own.split()[1]) / 1024)


def test_a_worker_keeps_no_batch():
    sizes = [x[:, 0].max().item() for x in mstorch.utils.data.DataLoader(Sized(mstorch, 200), 4, num_workers=1)]
    assert max(sizes) - max(sizes[:5]) < 100  # 50 batches of 16 MB


def test_pickles_that_a_worker_makes_elsewhere_are_as_before():
    before = dict(ForkingPickler._extra_reducers)
    _shared.pickled(_shared.Outbox(None), [mstorch.ones(3), mstorch.nn.Parameter(mstorch.ones(3)), mstorch.ones(3).untyped_storage()])
    assert ForkingPickler._extra_reducers == before


def test_a_child_that_frees_its_copy_of_a_batch_leaves_the_parents():
    iterator = iter(mstorch.utils.data.DataLoader(Filled(mstorch, 40), 2, num_workers=1))
    x, y = next(iterator)
    child = os.fork()
    if not child:
        del x
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    for _ in iterator:
        assert x[:, 5].tolist() == y.tolist() == [0, 1]


class Rows:
    """Rows of a large tensor as views: the tensor moves to shared memory once."""

    def __init__(self, torch):
        self.x = torch.arange(400.0 * 1000).reshape(400, 1000)

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return self.x[index], self.x[index, 2:4]


def test_views_share_memory_as_in_torch():
    for torch in LIBRARIES:
        loader = torch.utils.data.DataLoader(Rows(torch), batch_size=None, num_workers=1)
        for number, (row, part) in enumerate(loader):
            assert row[2:4].tolist() == part.tolist() == [number * 1000.0 + 2, number * 1000.0 + 3]
            assert row.storage_offset() == 1000 * number and row.untyped_storage().nbytes() == 4 * 400 * 1000
            row[2] = 7.0
            assert part[0] == 7.0


def test_the_storage_is_as_torchs():
    for torch in LIBRARIES:
        ((x, _),) = torch.utils.data.DataLoader(Filled(torch, 2), 2, num_workers=1)
        assert not x.untyped_storage().resizable() and x.untyped_storage().nbytes() == 2 * 4 * ELEMENTS and x.is_leaf
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            x.resize_(4, ELEMENTS)


def test_spawned_workers():
    loader = mstorch.utils.data.DataLoader(Spawned(), 2, num_workers=1, multiprocessing_context="spawn")
    assert [batch[:, 0].tolist() for batch in loader] == [[0.0, 1.0], [2.0, 3.0]]


class Spawned:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return mstorch.full((ELEMENTS,), float(index))


def test_no_address_space_for_a_block(monkeypatch):
    monkeypatch.setattr(_shared, "SIZE", 1 << 62)
    loader = mstorch.utils.data.DataLoader(Filled(mstorch, 6), 2, num_workers=1)
    assert [x[:, 0].tolist() for x, _ in loader] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_parts_of_a_block():
    """Parts never overlap, hold their data, and leave the whole block free at the end."""
    draw = random.Random(0)
    outbox = _shared.Outbox(untyped_over(_shared.Block(1 << 22)))
    held = {}
    refused = 0
    for step in range(2000):
        if held and (draw.random() < 0.5 or step > 1900):
            offset, (size, value) = held.popitem() if draw.random() < 0.5 else next(iter(held.items()))
            held.pop(offset, None)
            assert (outbox._memory[offset : offset + size] == value).all()
            outbox.release([offset])
            continue
        size, value = draw.randrange(1, 1 << 19), draw.randrange(256)
        part = outbox.put(np.full(size, value, np.uint8))
        refused += part is None
        if part is not None:
            held[part[1]] = part[2], value
    outbox.release(list(held))
    assert refused and outbox._free == [(0, 1 << 22)]


class Tracked(Spawned):
    def __getitem__(self, index):
        return mstorch.ones(ELEMENTS, requires_grad=True) * 2


def test_tensors_with_a_history_are_refused():
    """torch's queue prints this error, and the program waits for the batch for ever."""
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(mstorch.utils.data.DataLoader(Tracked(), batch_size=None, num_workers=1))
