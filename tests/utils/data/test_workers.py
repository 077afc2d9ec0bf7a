"""DataLoader with worker processes compared with torch's: batches, order, seeds, errors.

Spawned workers import this module, so all that they use is at its top and knows its library by name.
"""

import importlib
import os
import random
import time

import numpy as np
import pytest
import torch as reference

import mstorch
from tests import warm

LIBRARIES = (mstorch, reference)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*multi-threaded.*fork")]


class Numbers:
    def __init__(self, n=11):
        self.n = n

    def __getitem__(self, index):
        return index, float(index) / 2

    def __len__(self):
        return self.n


class Named(Numbers):
    """A dataset that holds the name of its library."""

    extra = ()

    def __init__(self, library, n=11):
        super().__init__(n)
        self.library = library

    @property
    def torch(self):
        return importlib.import_module(self.library)


class Tensors(Named):
    """A dataset whose samples a worker computes with the library's operations."""

    def __getitem__(self, index):
        x = self.torch.arange(40.0).reshape(10, 4)
        return ((x + 1) * 2).sum(1)[index % 10].item()


class Draws(Named):
    def __getitem__(self, index):
        info = self.torch.utils.data.get_worker_info()
        drawn = [random.random(), np.random.random(), self.torch.rand(1).item()]
        return [info.id, info.num_workers, info.seed, info.dataset is self, index, *self.extra, *drawn]


class Init:
    def __init__(self, library):
        self.library = library

    def __call__(self, worker):
        info = importlib.import_module(self.library).utils.data.get_worker_info()
        info.dataset.extra = (f"worker {worker}",)


def _share(torch):
    info = torch.utils.data.get_worker_info()
    # The first worker has far more samples than the second.
    return iter(range(info.id * 100, info.id * 100 + (9 if info.id == 0 else 3)))


class MyShares(mstorch.utils.data.IterableDataset):
    def __iter__(self):
        return _share(mstorch)


class TheirShares(reference.utils.data.IterableDataset):
    def __iter__(self):
        return _share(reference)


class Slow(Numbers):
    """A dataset whose first sample takes a given time."""

    def __init__(self, n, seconds):
        super().__init__(n)
        self.seconds = seconds

    def __getitem__(self, index):
        time.sleep(self.seconds if index == 0 else 0.0)
        return index


class Fussy(ValueError):
    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


ERRORS = {"value": ValueError("no"), "key": KeyError("key"), "fussy": Fussy(1, 2), "stop": StopIteration("end")}


class Bad(Numbers):
    def __init__(self, n, error):
        super().__init__(n)
        self.error = error

    def __getitem__(self, index):
        if index == 4:
            raise ERRORS[self.error]
        return index


class Deadly(Numbers):
    def __getitem__(self, index):
        os._exit(3)


def fail(worker):
    raise ValueError(f"init {worker}")


def unpicklable(batch):
    return lambda: batch


def _plain(value):
    if hasattr(value, "detach"):
        return str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _both(body):
    outcomes = [body(torch, torch.utils.data) for torch in LIBRARIES]
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2, "batch_size": 2, "shuffle": True, "drop_last": True, "prefetch_factor": 1},
        {"num_workers": 2, "batch_size": 3, "shuffle": True, "persistent_workers": True},
    ],
)
def test_batches_and_draws(options):
    def body(t, d):
        t.manual_seed(3)
        loader = d.DataLoader(Numbers(), **options)
        seen = [len(loader)]
        for _ in range(2):
            seen.append([_plain(batch) for batch in loader])
            seen.append(t.get_rng_state().tolist())
        return seen

    _both(body)


def test_the_workers_operations():
    def body(t, d):
        w = t.ones(300, 300).requires_grad_()
        (w * w).sum().backward()
        return [_plain(batch) for batch in d.DataLoader(Tensors(t.__name__), batch_size=4, num_workers=1)]

    _both(body)


def test_seeds_and_worker_info():
    def body(t, d):
        t.manual_seed(9)
        init = Init(t.__name__)
        loader = d.DataLoader(Draws(t.__name__, 6), 2, num_workers=2, worker_init_fn=init, collate_fn=list)
        return list(loader), d.get_worker_info()

    _both(body)


@pytest.mark.parametrize(
    "options",
    [{"batch_size": 2, "persistent_workers": True}, {"batch_size": None}, {"batch_size": 2, "drop_last": True}],
)
def test_iterable(options):
    def body(t, d):
        shares = MyShares() if t is mstorch else TheirShares()
        loader = d.DataLoader(shares, num_workers=2, **options)
        return [[_plain(batch) for batch in loader] for _ in range(2)]

    _both(body)


def test_out_of_order():
    def body(t, d):
        loader = d.DataLoader(Slow(6, 3.0), batch_size=None, num_workers=2, in_order=False, prefetch_factor=1)
        seen = list(loader)
        return sorted(seen), seen[0] != 0

    assert _both(body) == ([0, 1, 2, 3, 4, 5], True)


def _message(body):
    with pytest.raises(Exception) as caught:
        body()
    lines = str(caught.value).splitlines()
    return caught.type.__name__, lines[:2], lines[-1]


@pytest.mark.parametrize("error", ERRORS)
def test_errors_in_a_worker(error):
    def body(t, d):
        iterator = iter(d.DataLoader(Bad(6, error), 2, num_workers=1))
        seen = [_plain(next(iterator)), _plain(next(iterator))]
        return seen, _message(lambda: next(iterator)), list(iterator)

    _both(body)


def test_errors_before_the_first_batch():
    _both(lambda t, d: _message(lambda: list(d.DataLoader(Numbers(), num_workers=1, worker_init_fn=fail))))


def test_a_collate_function_that_cannot_be_pickled():
    loader = mstorch.utils.data.DataLoader(Numbers(3), num_workers=1, collate_fn=unpicklable)
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        list(loader)


def test_a_worker_that_dies():
    loader = mstorch.utils.data.DataLoader(Deadly(3), num_workers=1)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(loader)


def test_timeout():
    for torch in LIBRARIES:
        iterator = iter(torch.utils.data.DataLoader(Slow(3, 30.0), num_workers=1, timeout=0.5))
        with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.5 seconds"):
            next(iterator)
        for worker in iterator._workers:
            worker.terminate()


def test_left_early():
    loader = mstorch.utils.data.DataLoader(Numbers(100), num_workers=2)
    iterator = iter(loader)
    next(iterator)
    workers = list(iterator._workers)
    del iterator
    assert not any(worker.is_alive() for worker in workers)


def test_contexts():
    for torch in LIBRARIES:
        data = torch.utils.data
        with pytest.raises(ValueError, match="should specify a valid start method"):
            data.DataLoader(Numbers(), num_workers=1, multiprocessing_context="no")
        with pytest.raises(TypeError, match="should be a valid context object"):
            data.DataLoader(Numbers(), num_workers=1, multiprocessing_context=3)
    data = mstorch.utils.data
    loader = data.DataLoader(Numbers(4), 2, num_workers=1, multiprocessing_context="spawn")
    assert [_plain(batch)[0][1] for batch in loader] == [[0, 1], [2, 3]]
    loader = data.DataLoader(Numbers(4), 2, num_workers=1, multiprocessing_context="fork")
    assert [_plain(batch)[0][1] for batch in loader] == [[0, 1], [2, 3]]


def test_workers_are_forks():
    """Local classes and functions are available in a worker, and nothing is imported again."""
    for torch in LIBRARIES:

        class Local(torch.utils.data.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                return torch.full((2,), float(index)) * 2 + torch.ones(2)

        seen = []
        loader = torch.utils.data.DataLoader(
            Local(), 3, num_workers=2, collate_fn=lambda batch: (torch.stack(batch).sum(0), len(seen)),
            worker_init_fn=lambda worker: seen.append(worker),
        )  # fmt: skip
        assert [(x.tolist(), count) for x, count in loader] == [([9.0, 9.0], 1), ([27.0, 27.0], 1)]
        assert seen == []


class Counting(mstorch.utils.data.IterableDataset):
    def __iter__(self):
        info = mstorch.utils.data.get_worker_info()
        return iter(range(info.id, 10, info.num_workers))


def test_an_iterable_dataset_shares_its_samples_out():
    batches = [batch.tolist() for batch in mstorch.utils.data.DataLoader(Counting(), 2, num_workers=2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]


class Waits(mstorch.utils.data.Dataset):
    """A dataset whose kernels wait for threads that a forked process lacks."""

    def __init__(self, function):
        self.function = function

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.function(mstorch.ones(1, 1, 4, 4))


@pytest.mark.parametrize("name", ["conv2d", "max_pool2d", "interpolate", "backward"])
def test_kernels_and_gradients_in_a_worker(name):
    functional = mstorch.nn.functional
    function = {
        "conv2d": lambda x: functional.conv2d(x, mstorch.ones(1, 1, 3, 3)),
        "max_pool2d": lambda x: functional.max_pool2d(x, 2),
        "interpolate": lambda x: functional.interpolate(x, size=(2, 2), mode="bilinear"),
        "backward": lambda x: mstorch.autograd.grad((x.requires_grad_() * x).sum(), x)[0],
    }[name]
    (batch,) = mstorch.utils.data.DataLoader(Waits(function), num_workers=1)
    expected = function(mstorch.ones(1, 1, 4, 4)).detach()
    assert batch[0].tolist() == expected.tolist()


def _of_sequences(x):
    return mstorch.nn.functional.ctc_loss(x[0].log_softmax(-1).swapaxes(0, 1), mstorch.tensor([[1, 2]]), mstorch.tensor([4]), mstorch.tensor([2]))


def test_a_call_that_would_hang_in_a_fork_raises():
    loader = mstorch.utils.data.DataLoader(Waits(_of_sequences), num_workers=1)
    with pytest.raises(RuntimeError, match="cannot run in a forked process"):
        list(loader)


SCRIPT = """
print("the script runs", flush=True)
import torch
import torch.utils.data as data

loader = data.DataLoader([torch.tensor(i) * 2 for i in range(6)], 2, num_workers=2, shuffle=True, generator=torch.Generator().manual_seed(0))
for epoch in range(2):
    print([batch.tolist() for batch in loader])
"""


def test_a_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    root = os.path.dirname(os.path.dirname(mstorch.__file__))
    outputs = []
    for options in (["-m", "mstorch"], []):
        environment = os.environ | {"PYTHONPATH": root}
        done = warm.done(*options, "script.py", environment=environment, folder=tmp_path, seconds=120)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] and outputs[0].count("the script runs") == 1


UNFINISHED = """
import sys
import mstorch
loader = mstorch.utils.data.DataLoader(range(100), 2, num_workers=2, persistent_workers=True, multiprocessing_context=sys.argv[1])
if __name__ == "__main__":
    batches = iter(loader)
    print(next(batches).tolist())
    if sys.argv[2] == "error":
        raise ValueError("an error of the script")
    if sys.argv[2] == "exit":
        sys.exit(3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("end", ["end", "error", "exit"])
def test_a_program_ends_in_silence_with_a_loader_that_is_not_done(tmp_path, context, end):
    (tmp_path / "script.py").write_text(UNFINISHED)
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(mstorch.__file__))}
    done = warm.done("script.py", context, end, environment=environment, folder=tmp_path, seconds=120)
    assert done.stdout == "[0, 1]\n" and done.returncode == {"end": 0, "error": 1, "exit": 3}[end]
    said = [line for line in done.stderr.splitlines() if "Warning" not in line and not line.startswith(("  ", "\t"))]
    assert [line for line in said if line] == (["Traceback (most recent call last):", "ValueError: an error of the script"] if end == "error" else [])
