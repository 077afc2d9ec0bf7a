"""How often loaders, samplers and datapipes call ``__iter__`` and ``__next__`` of what they read, with iterators that count and misbehave."""
from __future__ import annotations

import itertools

import pytest

from tests.against_torch import both

ITERATORS = ["plain", "resets", "skips a header", "only next", "continues after its end", "generator", "raises", "ends at once"]


class Counted:
    """An iterable whose calls are written down; ``kind`` tells what its ``__iter__`` does."""

    def __init__(self, kind, log, length=7):
        self.kind, self.log, self.length = kind, log, length
        self.at = 0

    def __len__(self):
        return self.length

    def __iter__(self):
        self.log.append("iter")
        if self.kind == "generator":
            return (self.log.append(i) or i for i in range(self.length))
        if self.kind == "only next":
            return OnlyNext(self)
        if self.kind in ("plain", "resets"):
            self.at = 0
        elif self.kind == "skips a header":
            self.at += 1
        if self.kind == "plain":
            return Plain(self)
        return self

    def __next__(self):
        self.log.append(f"next {self.at}")
        self.at += 1
        if self.kind == "raises" and self.at == 4:
            raise ValueError("no fourth value")
        if self.kind == "ends at once" or self.at > self.length and (self.kind != "continues after its end" or self.at == self.length + 1):
            raise StopIteration
        return self.at - 1


class OnlyNext:
    def __init__(self, source):
        self.source = source

    def __next__(self):
        return self.source.__next__()


class Plain(OnlyNext):
    def __iter__(self):
        self.source.log.append("iter of the iterator")
        return self


def drawn(iterable, limit=12):
    """Return the first values, or the error at its place."""
    result = []
    try:
        for value in itertools.islice(iterable, limit):
            result.append(value if isinstance(value, (int, str)) else value.tolist() if hasattr(value, "tolist") else list(value))
    except Exception as error:  # noqa: BLE001 - compared
        result.append((type(error).__name__, str(error).split("\n")[0]))
    return result


def dataset_of(torch, kind, log, length=7):
    return type("Rows", (Counted, torch.utils.data.IterableDataset), {})(kind, log, length)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [None, 1, 2, 3, 7, 9])
@pytest.mark.parametrize("kind", ITERATORS)
def test_iterable_datasets(kind, size, drop_last):
    def body(torch):
        log = []
        loader = torch.utils.data.DataLoader(dataset_of(torch, kind, log), size, drop_last=drop_last, collate_fn=None if drop_last else list) \
            if size is not None or not drop_last else torch.utils.data.DataLoader(dataset_of(torch, kind, log), None)  # fmt: skip
        if size is None:
            loader.collate_fn = lambda value: value
        return [drawn(loader), list(log), drawn(loader, 1), drawn(loader, 2), log]

    both(body)


@pytest.mark.parametrize("size", [None, 2, 3])
@pytest.mark.parametrize("kind", ITERATORS)
@pytest.mark.slow
def test_iterable_datasets_in_workers(kind, size):
    def body(torch):
        loader = torch.utils.data.DataLoader(dataset_of(torch, kind, []), size, num_workers=2, collate_fn=_unchanged, multiprocessing_context="fork")
        return [value if not isinstance(value, tuple) else value[0] for value in drawn(loader)]

    both(body)


def _unchanged(value):
    return value


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 9])
@pytest.mark.parametrize("kind", ITERATORS)
def test_batch_samplers(kind, size, drop_last):
    def body(torch):
        log = []
        sampler = torch.utils.data.BatchSampler(Counted(kind, log), size, drop_last)
        return [drawn(sampler), list(log), drawn(sampler, 1), log]

    both(body)


@pytest.mark.parametrize("options", [{"sampler": 1}, {"sampler": 1, "batch_size": 3}, {"sampler": 1, "batch_size": 3, "drop_last": True},
                                     {"sampler": 1, "batch_size": None}, {"batch_sampler": 1}])  # fmt: skip
@pytest.mark.parametrize("kind", ITERATORS)
def test_samplers_of_loaders(kind, options):
    def body(torch):
        log = []
        samples = Counted(kind, log)
        if "batch_sampler" in options:
            samples = torch.utils.data.BatchSampler(samples, 2, False)
        arguments = {**options, next(iter(options)): samples}
        loader = torch.utils.data.DataLoader(range(100, 120), collate_fn=_unchanged, **arguments)
        return [drawn(loader), list(log), drawn(loader, 2), log, len(loader)]

    both(body)


@pytest.mark.parametrize("kind", [kind for kind in ITERATORS if kind != "only next"])
def test_chains(kind):
    def body(torch):
        log = []
        chain = torch.utils.data.ChainDataset([dataset_of(torch, kind, log, 3), dataset_of(torch, "plain", log, 2)])
        return [drawn(chain), list(log), drawn(torch.utils.data.DataLoader(chain, 2, collate_fn=list)), log, len(chain)]

    both(body)


PIPES = {
    "Batcher": (2,), "Batcher, drop_last": (2, True), "Collator": (list,), "Concater": (), "Demultiplexer": (2, lambda i: i % 2),
    "Filter": (lambda i: i % 2 == 0,), "Forker": (2,), "Grouper": (lambda i: i % 3,), "IterableWrapper": (), "Mapper": (lambda i: -i,),
    "Multiplexer": (), "Sampler": (), "ShardingFilter": (), "Shuffler": (), "UnBatcher": (), "Zipper": (),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["plain", "resets", "skips a header", "generator", "raises", "continues after its end"])
@pytest.mark.parametrize("name", PIPES)
def test_datapipes(name, kind):
    def body(torch):
        log = []
        pipes = torch.utils.data.datapipes.iter
        source = pipes.IterableWrapper(Counted(kind, log), deepcopy=False)
        cls = getattr(pipes, name.split(",")[0])
        args = PIPES[name]
        if name == "IterableWrapper":
            pipe = source
        elif name == "UnBatcher":
            pipe = cls(pipes.Batcher(source, 3))
        elif name == "Collator":
            pipe = cls(pipes.Batcher(source, 3), *args)
        elif name == "Sampler":
            pipe = cls(pipes.IterableWrapper(range(7)))
        else:
            pipe = cls(source, *args)
        torch.manual_seed(0)
        parts = pipe if isinstance(pipe, (list, tuple)) else [pipe]
        return [drawn(part, 20) for part in parts], list(log), [drawn(part, 2) for part in parts], log

    both(body)
