"""Iterators of loaders, and packages' subclasses of them (torchdata's loaders that can be resumed)."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both


@pytest.mark.parametrize("iterable", [False, True])
def test_attributes(iterable):
    def attributes(library):
        kind = library.utils.data.IterableDataset if iterable else library.utils.data.Dataset
        rows = type("Rows", (kind,), {"__len__": lambda self: 3, "__getitem__": lambda self, i: i, "__iter__": lambda self: iter(range(3))})()
        return set(vars(iter(library.utils.data.DataLoader(rows, 2))))

    assert attributes(real_torch) - attributes(mstorch) == set()


@pytest.mark.parametrize("iterable", [False, True])
def test_an_iterator_of_ones_own(iterable):
    def body(t):
        dataloader = t.utils.data.dataloader

        class Rows(t.utils.data.IterableDataset if iterable else t.utils.data.Dataset):
            def __len__(self):
                return 7

            def __getitem__(self, i):
                return i * 10

            def __iter__(self):
                return iter(range(0, 70, 10))

        class Counting(dataloader._BaseDataLoaderIter):
            def __init__(self, loader):
                super().__init__(loader)
                self.taken = 0
                self._dataset_fetcher = t.utils.data._DatasetKind.create_fetcher(
                    self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
                )

            def _next_index(self):
                self.taken += 1
                return super()._next_index()

            def _next_data(self):
                return self._dataset_fetcher.fetch(self._next_index())

        loader = t.utils.data.DataLoader(Rows(), 3)
        mine = Counting(loader)
        first = next(mine)
        mine._reset(loader)
        rest = list(mine)
        return first, rest, mine.taken, mine._num_yielded, mine._timeout, (mine._world_size, mine._rank), getattr(mine._dataset_fetcher, "ended", None)

    both(body)
