"""Datasets and random_split compared with torch's."""

import warnings

import pytest
import torch as reference

import mstorch

LIBRARIES = (mstorch, reference)


def _both(body):
    """Run one body with both libraries; assert that the results, or the errors' classes and messages, are equal."""
    outcomes = []
    for torch in LIBRARIES:
        try:
            outcomes.append(("result", body(torch, torch.utils.data)))
        except (AssertionError, IndexError, NotImplementedError, TypeError, ValueError) as error:
            outcomes.append((type(error).__name__, str(error)))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def _plain(value):
    if hasattr(value, "tolist"):
        return str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


def _numbers(data, n, start=0):
    class Numbers(data.Dataset):
        def __getitem__(self, index):
            if not -n <= index < n:
                raise IndexError(index)
            return start + index

        def __len__(self):
            return n

    return Numbers()


def _stream(data, *items):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(items)

        def __len__(self):
            return len(items)

    return Stream()


def _bulk(data, n, factor=1):
    class Bulk(data.Dataset):
        def __getitem__(self, index):
            return index

        def __getitems__(self, indices):
            return [index * 100 for index in indices] * factor

        def __len__(self):
            return n

    return Bulk()


def test_base():
    assert _both(lambda t, d: d.Dataset()[0])[0] == "NotImplementedError"
    assert _both(lambda t, d: type(_numbers(d, 3) + _numbers(d, 2)).__name__) == ("result", "ConcatDataset")
    assert _both(lambda t, d: list(_stream(d, 1, 2) + _stream(d, 3))) == ("result", [1, 2, 3])
    assert mstorch.utils.data.Dataset[int] is not None


def test_tensor_dataset():
    def body(t, d):
        dataset = d.TensorDataset(t.arange(6).reshape(3, 2), t.tensor([1.0, 2.0, 3.0]))
        return [len(dataset), _plain(dataset[1]), _plain(dataset[-1]), _plain(dataset[0:2])]

    assert _both(body)[0] == "result"
    assert _both(lambda t, d: d.TensorDataset(t.zeros(2), t.zeros(3)))[0] == "AssertionError"


@pytest.mark.parametrize(
    "body",
    [
        lambda d: d.StackDataset(_numbers(d, 3), _numbers(d, 3, 10))[1],
        lambda d: d.StackDataset(a=_numbers(d, 3), b=_numbers(d, 3, 10))[-1],
        lambda d: d.StackDataset(_numbers(d, 3), _bulk(d, 3)).__getitems__([2, 0]),
        lambda d: d.StackDataset(a=_numbers(d, 3), b=_bulk(d, 3)).__getitems__([2, 0]),
        lambda d: d.StackDataset(_bulk(d, 3, 2)).__getitems__([2, 0]),
        lambda d: len(d.StackDataset(_numbers(d, 3))),
        lambda d: d.StackDataset(),
        lambda d: d.StackDataset(_numbers(d, 3), _numbers(d, 4)),
        lambda d: d.StackDataset(a=_numbers(d, 3), b=_numbers(d, 4)),
        lambda d: d.StackDataset(_numbers(d, 3), b=_numbers(d, 3)),
        lambda d: [d.ConcatDataset([_numbers(d, 3), _numbers(d, 2, 50)])[i] for i in range(-5, 5)],
        lambda d: d.ConcatDataset([_numbers(d, 3), _numbers(d, 2)])[-6],
        lambda d: d.ConcatDataset([_numbers(d, 3), _numbers(d, 2)])[5],
        lambda d: d.ConcatDataset([_numbers(d, 3), _numbers(d, 2)]).cumulative_sizes,
        lambda d: d.ConcatDataset([]),
        lambda d: d.ConcatDataset([_stream(d, 1)]),
        lambda d: len(d.ChainDataset([_stream(d, 1, 2), _stream(d, 3)])),
        lambda d: list(d.ChainDataset([_stream(d, 1, 2), _stream(d, 3)])),
        lambda d: list(d.ChainDataset([_stream(d, 1, 2), _numbers(d, 3)])),
        lambda d: len(d.ChainDataset([_numbers(d, 3)])),
        lambda d: [d.Subset(_numbers(d, 9), [7, 2, 5])[i] for i in (0, 2)],
        lambda d: d.Subset(_numbers(d, 9), [7, 2, 5]).__getitems__([2, 1]),
        lambda d: d.Subset(_bulk(d, 9), [7, 2, 5]).__getitems__([2, 1]),
        lambda d: d.Subset(list(range(9)), [7, 2, 5])[[0]],
        lambda d: len(d.Subset(_numbers(d, 9), [7, 2, 5])),
        lambda d: type("Half", (d.Subset,), {"__getitem__": len})(_numbers(d, 9), [1]),
    ],
)
def test_composed(body):
    _both(lambda t, d: body(d))


@pytest.mark.parametrize(
    "lengths",
    [
        [3, 7],
        [10],
        [0.3, 0.7],
        [0.35, 0.35, 0.3],
        [0.05, 0.95],
        [0.5, 0.6],
        [3, 3],
        [1.5, -0.5],
        [0.1] * 10,
        [0.0, 1.0],
        [1],
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_random_split(lengths, own):
    def body(t, d):
        t.manual_seed(7)
        options = {"generator": t.Generator().manual_seed(3)} if own else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parts = d.random_split(_numbers(d, 10), lengths, **options)
        found = [[part.indices, len(part), [part[i] for i in range(len(part))]] for part in parts]
        return found, t.get_rng_state().tolist(), [(str(w.message), w.filename) for w in caught]

    _both(body)
