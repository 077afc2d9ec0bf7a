"""Samplers compared with torch's: the indices, and the generators' states after them."""

import pytest
import torch as reference

import mstorch

LIBRARIES = (mstorch, reference)


def _both(body):
    outcomes = []
    for torch in LIBRARIES:
        try:
            outcomes.append(("result", body(torch, torch.utils.data)))
        except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            outcomes.append((type(error).__name__, str(error)))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def _drawn(torch, make, own):
    """Return two iterations, the lengths, and the states of the default generator and of a given one."""
    torch.manual_seed(11)
    generator = torch.Generator().manual_seed(5)
    sampler = make(torch.utils.data, generator if own else None)
    orders = [list(sampler), list(sampler)]
    return orders, len(sampler), torch.get_rng_state().tolist(), generator.get_state().tolist()


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda d, g: d.SequentialSampler(range(5)),
        lambda d, g: d.RandomSampler(range(17), generator=g),
        lambda d, g: d.RandomSampler(range(1), generator=g),
        lambda d, g: d.RandomSampler(range(7), num_samples=20, generator=g),
        lambda d, g: d.RandomSampler(range(7), num_samples=3, generator=g),
        lambda d, g: d.RandomSampler(range(7), True, generator=g),
        lambda d, g: d.RandomSampler(range(7), True, 64, g),
        lambda d, g: d.RandomSampler(range(7), True, 100, g),
        lambda d, g: d.SubsetRandomSampler([9, 4, 6, 1], g),
        lambda d, g: d.WeightedRandomSampler([0.1, 0.0, 3.0, 1.0], 20, generator=g),
        lambda d, g: d.WeightedRandomSampler([0.1, 0.5, 3.0, 1.0], 4, replacement=False, generator=g),
        lambda d, g: d.BatchSampler(d.RandomSampler(range(10), generator=g), 3, False),
        lambda d, g: d.BatchSampler(d.RandomSampler(range(10), generator=g), 3, True),
        lambda d, g: d.BatchSampler(d.RandomSampler(range(9), generator=g), 3, True),
        lambda d, g: d.BatchSampler(range(2), 3, True),
        lambda d, g: d.DistributedSampler(range(10), 3, 1),
        lambda d, g: d.DistributedSampler(range(10), 3, 2, seed=4, drop_last=True),
        lambda d, g: d.DistributedSampler(range(10), 4, 3, shuffle=False),
        lambda d, g: d.DistributedSampler(range(2), 7, 6, shuffle=False),
        lambda d, g: d.DistributedSampler(range(10), 4, 3, shuffle=False, drop_last=True),
    ],
)
def test_order(make, own):
    assert _both(lambda t, d: _drawn(t, make, own))[0] == "result"


def test_a_sampler_left_early():
    def body(t, d):
        t.manual_seed(1)
        g = t.Generator().manual_seed(2)
        iterator = iter(d.BatchSampler(d.RandomSampler(range(10), generator=g), 5, True))
        seen = [next(iterator), g.get_state().tolist(), next(iterator), g.get_state().tolist()]
        return [*seen, list(iterator), g.get_state().tolist()]

    assert _both(body)[0] == "result"


def test_distributed_epochs():
    def body(t, d):
        orders = []
        for rank in range(3):
            sampler = d.DistributedSampler(range(11), num_replicas=3, rank=rank, seed=2)
            for epoch in range(3):
                sampler.set_epoch(epoch)
                orders.append(list(sampler))
        return orders

    assert _both(body)[0] == "result"


@pytest.mark.parametrize(
    "make",
    [
        lambda d: iter(d.Sampler()),
        lambda d: d.RandomSampler([], generator=None),
        lambda d: d.RandomSampler(range(3), replacement=1),
        lambda d: d.RandomSampler(range(3), num_samples=0),
        lambda d: d.RandomSampler(range(3), num_samples=1.5),
        lambda d: d.WeightedRandomSampler([1.0], 0),
        lambda d: d.WeightedRandomSampler([1.0], True),
        lambda d: d.WeightedRandomSampler([1.0], 1, 1),
        lambda d: d.WeightedRandomSampler([[1.0]], 1),
        lambda d: d.BatchSampler(range(3), 0, False),
        lambda d: d.BatchSampler(range(3), 1.5, False),
        lambda d: d.BatchSampler(range(3), True, False),
        lambda d: d.BatchSampler(range(3), 1, 0),
        lambda d: d.DistributedSampler(range(3), 2, 2),
        lambda d: d.DistributedSampler(range(3), 2, -1),
    ],
)
def test_errors(make):
    assert _both(lambda t, d: make(d))[0] != "result"
