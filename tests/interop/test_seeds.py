"""One seed for a script that uses both libraries: ``mindspore.set_seed`` and ``torch.manual_seed`` seed each other's generators."""
from __future__ import annotations

import os
import random
import time
import timeit
from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np
import pytest
import torch as real
from mindspore import ops
from mindspore.common.initializer import HeNormal, initializer

import mstorch as torch
from mstorch._src.backend.seeds import seed_is_new
from tests import warm


def of_real(seed: int) -> Any:
    """Return torch's first numbers with a seed."""
    return real.rand(3, generator=real.Generator().manual_seed(seed)).numpy(force=True)


def test_set_seed_of_mindspore_is_a_seed_of_torch() -> None:
    for seed in (3, 3, 0, 0, 2**32 - 1):  # the same seed twice restarts twice
        mindspore.set_seed(seed)
        np.testing.assert_array_equal(torch.rand(3).numpy(force=True), of_real(seed))
        assert torch.initial_seed() == seed
    mindspore.set_seed(4)
    assert torch.initial_seed() == 4 and torch.default_generator.initial_seed() == 4
    other = torch.Generator().manual_seed(9)
    np.testing.assert_array_equal(torch.rand(3, generator=other, device="cpu").numpy(force=True), of_real(9))


DRAWS: dict[str, Callable[[Any], Any]] = {
    "get_rng_state": lambda t: t.get_rng_state(),
    "the generator's state": lambda t: t.default_generator.get_state(),
    "the generator as an argument": lambda t: t.rand(3, generator=t.default_generator),
    "clone_state": lambda t: t.default_generator.clone_state().get_state(),
    "dropout": lambda t: t.nn.functional.dropout(t.ones(64)),
    "a layer's weights": lambda t: t.nn.Linear(3, 4).weight.detach(),
    "normal_": lambda t: t.zeros(5).normal_(),
    "randperm": lambda t: t.randperm(9),
    "fork_rng": lambda t: _forked(t),
    "a loader": lambda t: next(iter(t.utils.data.DataLoader(t.arange(20), batch_size=8, shuffle=True))),
    "random_split": lambda t: t.tensor(list(t.utils.data.random_split(range(9), [4, 5])[0])),
    "distributions": lambda t: t.distributions.Normal(0.0, 1.0).sample((3,)),
    "vmap": lambda t: t.vmap(lambda x: x + t.rand(2), randomness="different")(t.zeros(3, 2)),
    "a mask of attention": lambda t: t.nn.functional.scaled_dot_product_attention(*[t.ones(1, 4, 8)] * 3, dropout_p=0.5),
}


def _forked(t: Any) -> Any:
    with t.random.fork_rng():
        t.rand(4)
    return t.rand(4)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_whatever_draws_next_notices(draw: Callable[[Any], Any]) -> None:
    real.manual_seed(11)
    torch.manual_seed(5)
    mindspore.set_seed(11)
    np.testing.assert_array_equal(draw(torch).numpy(force=True), draw(real).numpy(force=True))


def test_the_last_word_holds() -> None:
    state = torch.Generator().manual_seed(8).get_state()
    mindspore.set_seed(1)
    torch.manual_seed(2)
    np.testing.assert_array_equal(torch.rand(3).numpy(force=True), of_real(2))
    mindspore.set_seed(1)
    torch.set_rng_state(state)
    np.testing.assert_array_equal(torch.rand(3).numpy(force=True), of_real(8))
    mindspore.set_seed(1)
    torch.default_generator.manual_seed(7)
    np.testing.assert_array_equal(torch.rand(3).numpy(force=True), of_real(7))
    mindspore.set_seed(1)
    torch.seed()
    assert not (torch.rand(3).numpy(force=True) == of_real(1)).all()


def of_mindspore() -> list[Any]:
    """Return MindSpore's next numbers, from each of its sources except NumPy's generator."""
    kernels = [ops.randn(3), ops.dropout(ops.ones(64), 0.5), ops.uniform((3,), mindspore.Tensor(0.0), mindspore.Tensor(1.0), seed=5)]
    pipeline = mindspore.dataset.NumpySlicesDataset(np.arange(30)[:, None], shuffle=True)
    order = [row[0].item() for row in pipeline.create_tuple_iterator(output_numpy=True)]
    return [item.asnumpy() for item in kernels] + [np.array(order), mindspore.get_rng_state().asnumpy()]


def test_manual_seed_of_torch_seeds_mindspore() -> None:
    mindspore.set_seed(6)
    mindspore.manual_seed(6)
    expected = of_mindspore()
    torch.manual_seed(1)
    apart = of_mindspore()
    torch.manual_seed(6)
    for found, wanted, other in zip(of_mindspore(), expected, apart):
        np.testing.assert_array_equal(found, wanted)
        assert not (found == other).all()
    assert mindspore.get_seed() == 6
    for seed, known in ((-1, 2**32 - 1), (2**40 + 5, 5), (np.int64(4), 4)):
        torch.manual_seed(seed)
        assert mindspore.get_seed() == known


def test_numpys_and_pythons_generators_stay_the_users() -> None:
    """As in torch, NumPy's and Python's generators are not seeded; MindSpore's initializers draw from NumPy's."""
    np.random.seed(3)
    random.seed(3)
    expected = np.random.rand(), random.random(), initializer(HeNormal(), [2, 3]).init_data().asnumpy()
    np.random.seed(3)
    random.seed(3)
    torch.manual_seed(9)
    found = np.random.rand(), random.random(), initializer(HeNormal(), [2, 3]).init_data().asnumpy()
    assert found[:2] == expected[:2] and (found[2] == expected[2]).all()


@pytest.mark.slow
def test_a_seed_given_before_the_import() -> None:
    script = "import mindspore; mindspore.set_seed(7); import mstorch as torch; print(torch.rand(3).tolist())"
    shown = warm.said("-c", script, environment={**os.environ, "GLOG_v": "3"}, library="mindspore")
    assert shown.strip() == str(of_real(7).tolist())


def test_a_look_is_cheap() -> None:
    assert min(timeit.repeat(seed_is_new, number=1000, repeat=20, timer=time.process_time)) < 1e-3  # a microsecond of a core each


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_may_seed() -> None:
    child = os.fork()
    if not child:
        good = False
        try:
            torch.manual_seed(3)
            good = (torch.rand(3, device="cpu").numpy(force=True) == of_real(3)).all()
            mindspore.set_seed(4)
            good = good and (torch.rand(3, device="cpu").numpy(force=True) == of_real(4)).all()
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
