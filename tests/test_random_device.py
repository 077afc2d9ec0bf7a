"""Draws from an accelerator's stream, with NumPy in place of the kernels that MindSpore has only for accelerators."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mindspore import mint

import mstorch
from mstorch._src.backend.device_random import DeviceStream
from mstorch._src.backend.raw import NP_DTYPE, from_numpy
from mstorch._src.core import generator as generators
from mstorch._src.core.device import device
from mstorch._src.core.tensor_base import on_device


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a generator on an NPU whose kernels are NumPy's, seeded by seed and offset."""

    def numpy_of(stream: DeviceStream) -> np.random.Generator:
        state = list(stream.get_state())
        state[8] += 1
        stream.set_state(bytes(state))
        return np.random.default_rng(state)

    kernels = {
        "uniform": lambda self, shape, name: from_numpy(np.asarray(numpy_of(self).random(shape), NP_DTYPE[name])),
        "normal": lambda self, shape, name: from_numpy(np.asarray(numpy_of(self).normal(size=shape), NP_DTYPE[name])),
        "integers": lambda self, shape, low, high, name: from_numpy(np.asarray(numpy_of(self).integers(low, high, shape), name)),
        "permutation": lambda self, n, name: from_numpy(numpy_of(self).permutation(n).astype(name)),
    }
    for name, kernel in kernels.items():
        monkeypatch.setattr(DeviceStream, name, kernel)
    generator = mstorch.Generator()
    generator._device = device("npu", 0)
    generator._engine = DeviceStream()
    yield generator.manual_seed(5)


DRAWS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda g: mstorch.rand(50, 40, generator=g),
    "rand float16": lambda g: mstorch.rand(2000, dtype=mstorch.float16, generator=g),
    "randn": lambda g: mstorch.randn(2000, generator=g),
    "randint": lambda g: mstorch.randint(3, 9, (2000,), generator=g),
    "randperm": lambda g: mstorch.randperm(2000, generator=g),
    "normal": lambda g: mstorch.normal(2.0, 3.0, (2000,), generator=g),
    "normal of tensors": lambda g: mstorch.normal(mstorch.full((2000,), 2.0), mstorch.full((2000,), 3.0), generator=g),
    "uniform_": lambda g: mstorch.empty(2000).uniform_(-2, 2, generator=g),
    "normal_": lambda g: mstorch.empty(40, 50).t().normal_(generator=g),
    "bernoulli_": lambda g: mstorch.empty(2000).bernoulli_(0.25, generator=g),
    "bernoulli": lambda g: mstorch.bernoulli(mstorch.full((2000,), 0.25), generator=g),
    "exponential_": lambda g: mstorch.empty(2000).exponential_(2.0, generator=g),
    "geometric_": lambda g: mstorch.empty(2000).geometric_(0.5, generator=g),
    "cauchy_": lambda g: mstorch.empty(2000).cauchy_(generator=g),
    "log_normal_": lambda g: mstorch.empty(2000).log_normal_(0.0, 0.5, generator=g),
    "random_": lambda g: mstorch.empty(2000, dtype=mstorch.uint8).random_(generator=g),
    "multinomial": lambda g: mstorch.multinomial(mstorch.tensor([0.5, 0.0, 0.25, 0.25]), 2000, True, generator=g),
}  # fmt: skip
MEANS = {
    "rand": 0.5, "rand float16": 0.5, "randn": 0.0, "randint": 5.5, "randperm": 999.5, "normal": 2.0, "normal of tensors": 2.0,
    "uniform_": 0.0, "normal_": 0.0, "bernoulli_": 0.25, "bernoulli": 0.25, "exponential_": 0.5, "geometric_": 2.0,
    "log_normal_": float(np.exp(0.125)), "random_": 127.5, "multinomial": 1.25,
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_a_device_stream_is_reproducible_and_right(accelerator: Any, name: str) -> None:
    host = mstorch.get_rng_state().tolist()
    first = DRAWS[name](accelerator)
    second = DRAWS[name](accelerator)
    again = DRAWS[name](accelerator.manual_seed(5))
    assert first.tolist() == again.tolist() != second.tolist()
    assert first.numel() == 2000 and mstorch.get_rng_state().tolist() == host
    if name in MEANS:
        values = first.double().numpy()
        assert abs(values.mean() - MEANS[name]) < 5 * values.std() / 2000**0.5 + 1e-9


@pytest.fixture(params=["smallest", "largest"])
def extreme(accelerator: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """Return the generator, with uniform numbers in [0, 1) that are all the smallest, or all the largest."""

    def kernel(stream: DeviceStream, shape: tuple[int, ...], name: str) -> Any:
        number = np.dtype(NP_DTYPE[name]).type
        return from_numpy(np.full(shape, 0 if request.param == "smallest" else np.nextafter(number(1), number(0)), number))

    monkeypatch.setattr(DeviceStream, "uniform", kernel)
    return accelerator


FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("low, high", [(0, 1), (1, 1.1), (-2, 2), (1000, 1001), (3, 3.0000001)])
def test_uniform_numbers_stay_below_the_upper_bound(extreme: Any, dtype: str, low: float, high: float) -> None:
    kind = getattr(mstorch, dtype)
    drawn = mstorch.empty(4, dtype=kind).uniform_(low, high, generator=extreme)
    first = mstorch.tensor(low, dtype=kind)
    assert bool((drawn >= first).all()) and bool(((drawn < high) | (drawn == first)).all())
    assert bool((mstorch.rand(4, dtype=kind, generator=extreme) < 1).all())


@pytest.mark.parametrize("dtype", FLOATS)
def test_exponential_numbers_are_positive_and_finite(extreme: Any, dtype: str) -> None:
    drawn = mstorch.empty(4, dtype=getattr(mstorch, dtype)).exponential_(generator=extreme)
    assert bool((drawn > 0).all()) and bool(drawn.isfinite().all())


@pytest.mark.parametrize("replacement", [True, False])
def test_elements_of_zero_weight_are_never_drawn(extreme: Any, replacement: bool) -> None:
    weights = mstorch.tensor([[0.0, 0.5, 0.0, 0.5], [1e-30, 0.0, 0.0, 2.0]])
    found = mstorch.multinomial(weights, 2, replacement, generator=extreme)
    assert bool((weights.gather(1, found) > 0).all())


def test_states(accelerator: Any) -> None:
    mstorch.rand(3, generator=accelerator)
    state = accelerator.get_state()
    assert state.shape == (16,) and accelerator.initial_seed() == 5
    copied = accelerator.clone_state()
    want = mstorch.rand(3, generator=accelerator).tolist()
    assert mstorch.rand(3, generator=copied).tolist() == want
    accelerator.set_state(state)
    assert mstorch.rand(3, generator=accelerator).tolist() == want
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        accelerator.set_state(mstorch.zeros(5056, dtype=mstorch.uint8))


def test_dropout_draws_where_the_tensor_is(accelerator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators.devices, "_TYPE", "npu")
    monkeypatch.setattr(generators, "_device_generators", [accelerator])
    host = mstorch.get_rng_state().tolist()

    def ones(*shape: int) -> Any:
        return on_device(from_numpy(np.ones(shape, np.float32)))

    mstorch.nn.functional.dropout(ones(5), 0.3)
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout"):
        seen = []
        for _ in range(2):
            accelerator.manual_seed(2)
            seen.append(getattr(mstorch.nn.functional, name)(ones(30, 20), 0.3, True).tolist())
        assert seen[0] == seen[1] and len({x for row in seen[0] for x in row}) == 2
    assert mstorch.get_rng_state().tolist() == host
    weights = mstorch.nn.init.normal_(mstorch.empty(4))
    assert mstorch.get_rng_state().tolist() != host and weights.shape == (4,)
    mstorch.manual_seed(9)
    assert accelerator.initial_seed() == 9


def test_what_a_device_stream_lacks_says_so(accelerator: Any) -> None:
    with pytest.raises(NotImplementedError, match="poisson has no kernel for an accelerator's generator"):
        mstorch.poisson(mstorch.ones(3), generator=accelerator)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'npu'"):
        mstorch.rand(3, generator=accelerator, device="cpu")


def test_the_kernels_exist() -> None:
    """MindSpore's mint has the functions that DeviceStream calls, with these arguments."""
    for name in ("rand", "randn", "randint", "randperm"):
        assert {"generator", "dtype"} <= set(getattr(mint, name).__code__.co_varnames), name
