"""What may change between two calls of a compiled function: each change is seen, by a new graph or by a run without one."""
from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch as torch
from tests.compile import changes, changes_of_modules

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile")

assert len(changes.CASES) >= 100 and changes_of_modules.case is changes.case


@pytest.fixture(autouse=True, scope="module")
def _less_to_look_through() -> Any:
    """A capture looks for tensors among all objects: those that are there already have nothing to do with these."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _restored() -> Any:
    yield
    changes.restore()


def _run(function: Callable[[Any], Any], x: Any) -> Any:
    """The result, after the same random numbers for each run."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    result = function(x)
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])
    return result


def _equal(one: Any, other: Any) -> bool:
    return one.dtype == other.dtype and one.requires_grad == other.requires_grad and torch.allclose(one, other, rtol=1e-3, atol=1e-3)  # MindSpore's tanh


@pytest.mark.parametrize("name", list(changes.CASES))
def test_a_change_between_calls_is_seen(name: str) -> None:
    torch.manual_seed(0)
    function, change = changes.CASES[name]()
    compiled = torch.compile(function, backend="mindspore")
    x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 1.0, -3.0]])
    for _ in range(2):
        before = _run(function, x)
        assert _equal(before, _run(compiled, x))
    change()
    after = _run(function, x)
    assert not _equal(before, after), "the change does not matter"
    for _ in range(2):
        got = _run(compiled, x)
        assert _equal(after, got), f"stale: {got} where eager gives {after}"
