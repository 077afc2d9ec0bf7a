"""DataLoader and the collate functions compared with torch's: batches, draws, errors, warnings."""

import collections
import warnings

import numpy as np
import pytest
import torch as reference

import mstorch

LIBRARIES = (mstorch, reference)
Pair = collections.namedtuple("Pair", "x y")


def _both(body):
    outcomes = []
    for torch in LIBRARIES:
        try:
            outcomes.append(("result", body(torch, torch.utils.data)))
        except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            outcomes.append((type(error).__name__, str(error)))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def _plain(value):
    """Return tensors, at any depth, as (dtype, shape, list), and say which containers they are in."""
    if isinstance(value, np.ndarray):
        return "array", value.tolist()
    if hasattr(value, "detach"):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [_plain(item) for item in value]
    return type(value).__name__, value


class Squares:
    def __getitem__(self, index):
        return index, float(index) ** 2

    def __len__(self):
        return 10


def _stream(data, n, said=None):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(n))

        def __len__(self):
            return n if said is None else said

        def __repr__(self):
            return "Stream"

    return Stream()


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": 3, "shuffle": True},
        {"batch_size": 5, "shuffle": True, "drop_last": True},
        {"batch_size": None},
        {"batch_size": None, "shuffle": True},
        {"batch_size": 4, "sampler": [3, 1, 4, 1, 5]},
        {"batch_sampler": [[3, 1], [4]]},
        {"batch_size": 4, "collate_fn": list},
        {"batch_size": 4, "shuffle": True, "worker_init_fn": len, "pin_memory_device": "cuda", "in_order": False},
    ],
)
def test_batches_and_draws(options, own):
    def body(t, d):
        t.manual_seed(3)
        generator = t.Generator().manual_seed(4)
        loader = d.DataLoader(Squares(), generator=generator if own else None, **options)
        seen = [len(loader)]
        for _ in range(2):
            iterator = iter(loader)
            seen.append([t.get_rng_state().tolist(), generator.get_state().tolist(), len(iterator)])
            seen.append(_plain(next(iterator)))
            seen.append([t.get_rng_state().tolist(), generator.get_state().tolist()])
            seen.append([_plain(batch) for batch in iterator])
            seen.append([t.get_rng_state().tolist(), generator.get_state().tolist()])
        return seen

    assert _both(body)[0] == "result"


@pytest.mark.parametrize(
    "options", [{"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}, {"batch_size": 5}, {}]
)
def test_iterable(options):
    def body(t, d):
        loader = d.DataLoader(_stream(d, 10), **options)
        iterator = iter(loader)
        seen = [_plain(batch) for batch in iterator]
        return seen, len(loader), list(iterator)

    assert _both(body)[0] == "result"


def test_iterable_longer_than_its_len():
    def body(t, d):
        loader = d.DataLoader(_stream(d, 5, said=3), batch_size=None)
        assert len(loader) == 3
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert [_plain(x) for x in loader] == [("int", i) for i in range(5)]
        return [str(warning.message) for warning in caught]

    assert len(_both(body)[1]) == 2


def test_iterable_that_goes_on_after_its_end():
    def body(t, d):
        class Stubborn(d.IterableDataset):
            def __iter__(self):
                return self

            def __next__(self):
                self.n = getattr(self, "n", 0) + 1
                if self.n == 4:
                    raise StopIteration
                return self.n

        return [batch.tolist() for batch in d.DataLoader(Stubborn(), batch_size=2)]

    assert _both(body) == ("result", [[1, 2], [3]])


def test_bulk_fetch():
    def body(t, d):
        class Bulk(Squares):
            def __getitems__(self, indices):
                return [-i for i in indices]

        return [batch.tolist() for batch in d.DataLoader(Bulk(), batch_size=4)]

    assert _both(body) == ("result", [[0, -1, -2, -3], [-4, -5, -6, -7], [-8, -9]])


def test_tensor_dataset():
    def body(t, d):
        t.manual_seed(0)
        dataset = d.TensorDataset(t.arange(12).reshape(6, 2), t.arange(6) / 2)
        return [_plain(batch) for batch in d.DataLoader(dataset, batch_size=4, shuffle=True)]

    assert _both(body)[0] == "result"


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.DataLoader(Squares(), num_workers=-1),
        lambda d: d.DataLoader(Squares(), timeout=-1),
        lambda d: next(iter(d.DataLoader(Squares(), timeout=1))),
        lambda d: d.DataLoader(Squares(), prefetch_factor=2),
        lambda d: d.DataLoader(Squares(), persistent_workers=True),
        lambda d: d.DataLoader(Squares(), multiprocessing_context="fork"),
        lambda d: d.DataLoader(Squares(), shuffle=True, sampler=[1]),
        lambda d: d.DataLoader(Squares(), batch_size=2, batch_sampler=[[1]]),
        lambda d: d.DataLoader(Squares(), shuffle=True, batch_sampler=[[1]]),
        lambda d: d.DataLoader(Squares(), drop_last=True, batch_sampler=[[1]]),
        lambda d: d.DataLoader(Squares(), batch_size=None, drop_last=True),
        lambda d: d.DataLoader(Squares(), batch_size=0),
        lambda d: d.DataLoader([], shuffle=True),
        lambda d: d.DataLoader(_stream(d, 3), shuffle=True),
        lambda d: d.DataLoader(_stream(d, 3), sampler=[1]),
        lambda d: d.DataLoader(_stream(d, 3), batch_sampler=[[1]]),
        lambda d: setattr(d.DataLoader(Squares()), "batch_size", 3),
        lambda d: setattr(d.DataLoader(Squares()), "dataset", 3),
        lambda d: iter(d.DataLoader(Squares())).__getstate__(),
    ],
)
def test_errors(make):
    assert _both(lambda t, d: make(d))[0] != "result"


def test_pin_memory_warns_without_an_accelerator():
    for torch in LIBRARIES:
        with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
            next(iter(torch.utils.data.DataLoader(Squares(), pin_memory=True)))


def test_no_worker_info_here():
    assert _both(lambda t, d: d.get_worker_info()) == ("result", None)


class Frozen(collections.abc.Mapping):
    """A mapping that is immutable and cannot be constructed from a dict."""

    def __init__(self, a, b):
        self.items_ = {"a": a, "b": b}

    def __getitem__(self, key):
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return 2


SAMPLES = [
    lambda t: [t.ones(2), t.zeros(2)],
    lambda t: [t.tensor(True), t.tensor(False)],
    lambda t: [np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)],
    lambda t: [np.float32(1), np.float32(2)],
    lambda t: [np.int16(1), np.int16(2)],
    lambda t: [np.bool_(True), np.bool_(False)],
    lambda t: [1, 2],
    lambda t: [True, False],
    lambda t: [1.5, 2.5],
    lambda t: ["a", "b"],
    lambda t: [b"a", b"b"],
    lambda t: [(1, 2.0), (3, 4.0)],
    lambda t: [[1, "x"], [3, "y"]],
    lambda t: [{"a": 1, "b": [t.ones(1)]}, {"a": 2, "b": [t.zeros(1)]}],
    lambda t: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    lambda t: [collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)],
    lambda t: [Pair(1, "p"), Pair(2, "q")],
    lambda t: [Frozen(1, 2), Frozen(3, 4)],
    lambda t: [collections.deque([1, 2]), collections.deque([3, 4])],
    lambda t: [range(2), range(2)],
    lambda t: [[], []],
    lambda t: [[1], [1, 2]],
    lambda t: [object(), object()],
    lambda t: [None, None],
    lambda t: [np.array(["a"]), np.array(["b"])],
    lambda t: [np.array([object()]), np.array([object()])],
    lambda t: [{"a": object()}],
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_collate(sample):
    def body(t, d):
        return _plain(d.default_collate(sample(t)))

    kinds = []
    for torch in LIBRARIES:
        try:
            kinds.append(body(torch, torch.utils.data))
        except (RuntimeError, TypeError) as error:
            kinds.append((type(error).__name__, str(error)))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("sample", [s for i, s in enumerate(SAMPLES) if i not in (22, 25, 26)])
def test_convert(sample):
    def body(t, d):
        converted = d.default_convert(sample(t))
        return _plain(converted), _plain(d.default_convert(tuple(sample(t))))

    assert _both(body)[0] == "result"


def test_collate_map_of_the_user():
    def body(t, d):
        module = __import__(f"{t.__name__}.utils.data._collate", fromlist=["x"]) if t is mstorch else None
        collate = module if module else reference.utils.data._utils.collate
        functions = dict(collate.default_collate_fn_map)
        functions[complex] = lambda batch, *, collate_fn_map: sum(batch)
        return collate.collate([(1, 1j), (2, 2j)], collate_fn_map=functions)[1]

    assert _both(body) == ("result", 3j)


@pytest.mark.parametrize("make", ["torch.eye(2).to_sparse()", "torch.eye(2).to_sparse_csr()", "torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])"])
@pytest.mark.filterwarnings("ignore")
def test_no_batches_of_sparse_or_nested_tensors(both, make):
    both(lambda torch: torch.utils.data.default_collate([eval(make, {"torch": torch})] * 2))


def test_workers_fetch_ahead():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"):
        iter(mstorch.utils.data.DataLoader([1, 2], num_workers=1, prefetch_factor=0))


@pytest.mark.parametrize("name", ["plain", "subset", "nested subset", "subclass", "transposed", "tracked", "negative", "out of range", "map"])
def test_rows_of_a_tensor_dataset(name):
    """Batches of rows that are read at once equal the samples collated by ``default_collate``."""

    def body(t, d):
        x = t.arange(60.0).reshape(10, 2, 3)
        labels = t.arange(10)

        class Mine(d.TensorDataset):
            def __getitem__(self, index):
                return super().__getitem__(index)[0] * 2, index

        if name == "transposed":
            x = t.arange(60.0).reshape(3, 2, 10).transpose(0, 2)
        if name == "tracked":
            x.requires_grad_()
        dataset = (Mine if name == "subclass" else d.TensorDataset)(x, labels, t.zeros(10, 0), labels % 2 == 0, x.bfloat16())
        if "subset" in name:
            dataset = d.Subset(dataset, [8, 1, 1, 3, 5])
        if name == "nested subset":
            dataset = d.Subset(dataset, range(4, 1, -1))
        order = {"negative": [[-1, 2]], "out of range": [[1, 10]]}.get(name)
        loader = d.DataLoader(dataset, batch_sampler=order) if order else d.DataLoader(dataset, 3)
        if name == "out of range":
            with pytest.raises(IndexError, match="index 10 is out of bounds for dimension 0 with size 10"):
                list(loader)
            return None
        found = []
        for batch in loader:
            assert type(batch) is list
            found.append([(part.tolist(), str(part.dtype), part.stride(), part.requires_grad, part.is_contiguous()) for part in batch])
        return found

    _both(body)
