"""The engine's seeding, word order and state compared with torch.Generator."""

import copy
import multiprocessing
import os
import pickle
import struct
from collections.abc import Callable

import numpy as np
import pytest
import torch

from mstorch._src import mt19937 as rng

SEEDS = [0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**40 + 7, 2**63 - 1, 2**63, 2**64 - 1, -1, -5, -(2**63)]
WORDS = [0, 1, 7, 622, 623, 624, 625, 1000, 1248]


def torch_state(generator: torch.Generator) -> bytes:
    return generator.get_state().numpy().tobytes()


def same_uniforms(engine: rng.Engine, generator: torch.Generator, n: int) -> None:
    assert rng.uniform(engine, (n,)).tobytes() == torch.rand(n, generator=generator).numpy().tobytes()
    assert engine.get_state() == torch_state(generator)


@pytest.mark.parametrize("seed", SEEDS)
def test_seed(seed: int) -> None:
    engine, generator = rng.Engine(seed), torch.Generator().manual_seed(seed)
    assert engine.initial_seed() == generator.initial_seed()
    assert engine.get_state() == torch_state(generator)
    for n in (1, 622, 1, 1, 623, 624, 625, 5, 3, 64, 65, 60, 60):  # small and large draws that cross block boundaries
        same_uniforms(engine, generator, n)


def test_default_seed() -> None:
    assert rng.Engine().get_state() == torch_state(torch.Generator())


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seed_out_of_range(seed: int) -> None:
    with pytest.raises(ValueError, match="^Overflow when unpacking long long$"):
        rng.Engine(seed)


def test_seed_from_system() -> None:
    engine = rng.Engine()
    first, second = engine.seed(), engine.seed()
    assert first != second == engine.initial_seed()


@pytest.mark.parametrize("n", WORDS)
def test_states_are_interchangeable(n: int) -> None:
    generator = torch.Generator().manual_seed(3)
    torch.rand(n, generator=generator)
    torch.randn(3, generator=generator)
    engine = rng.Engine(99)
    rng.uniform(engine, (5,))
    engine.set_state(generator.get_state().numpy())
    assert engine.get_state() == torch_state(generator)
    assert engine.initial_seed() == 3
    twin = engine.clone()
    other = torch.Generator()
    other.set_state(torch.frombuffer(bytearray(engine.get_state()), dtype=torch.uint8))
    assert rng.normal(engine, (5,)).tobytes() == torch.randn(5, generator=other).numpy().tobytes()
    same_uniforms(engine, other, 2000)
    torch.randn(5, generator=generator)
    rng.normal(twin, (5,))
    same_uniforms(twin, generator, 3)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda engine: pickle.loads(pickle.dumps(engine))])
def test_copies(duplicate: Callable[[rng.Engine], rng.Engine]) -> None:
    engine = rng.Engine(5)
    rng.normal(engine, (3,))
    twin = duplicate(engine)
    assert twin.get_state() == engine.get_state()
    assert rng.normal(engine, (5,)).tobytes() == rng.normal(twin, (5,)).tobytes()


def test_fresh_state_survives_a_round_trip() -> None:
    fresh = rng.Engine(5).get_state()
    engine = rng.Engine(6)
    engine.set_state(fresh)
    assert engine.get_state() == fresh


@pytest.mark.parametrize(
    ("offset", "layout", "value"),
    [(8, "<i", 0), (8, "<i", -1), (8, "<i", 625), (12, "<i", 0), (16, "<Q", 625)],
)
def test_impossible_state(offset: int, layout: str, value: int) -> None:
    state = bytearray(rng.Engine().get_state())
    struct.pack_into(layout, state, offset, value)
    with pytest.raises(RuntimeError, match="^Invalid mt19937 state$"):
        rng.Engine().set_state(state)
    with pytest.raises(RuntimeError, match="^Invalid mt19937 state$"):
        torch.Generator().set_state(torch.frombuffer(state, dtype=torch.uint8))


def test_inconsistent_state() -> None:
    """torch accepts such a state and reads words from other memory; no generator ever produces one."""
    engine = rng.Engine()
    rng.uniform(engine, (5,))
    state = bytearray(engine.get_state())
    struct.pack_into("<Q", state, 16, 3)
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        engine.set_state(state)


def test_state_of_wrong_size() -> None:
    with pytest.raises(RuntimeError) as ours:
        rng.Engine().set_state(bytes(100))
    with pytest.raises(RuntimeError) as theirs:
        torch.Generator().set_state(torch.zeros(100, dtype=torch.uint8))
    assert str(ours.value) == str(theirs.value)


def _draw_in_child(queue: "multiprocessing.SimpleQueue[bytes]") -> None:
    queue.put(rng.uniform(rng.Engine(1), (1_000_000,)).tobytes()[-400:])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_large_draw_after_fork() -> None:
    """The parent's worker thread does not exist in the child process."""
    expected = rng.uniform(rng.Engine(1), (1_000_000,)).tobytes()[-400:]
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=_draw_in_child, args=(queue,))
    process.start()
    process.join(20)
    assert process.exitcode == 0
    assert queue.get() == expected


def test_samples_are_fresh_arrays() -> None:
    """Writing to a small sample must not reach the engine's tables."""
    engine, twin = rng.Engine(1), rng.Engine(1)
    for draw in (rng.uniform, rng.normal, rng.bernoulli):
        for n in (3, 16, 20):
            draw(engine, (n,))[...] = np.nan
            draw(twin, (n,))
    assert rng.uniform(engine, (9,)).tobytes() == rng.uniform(twin, (9,)).tobytes()
