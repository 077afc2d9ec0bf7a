"""The public random functions give torch's numbers bit for bit, and leave the generator in torch's state."""
from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mstorch
from tests.against_torch import values

pytestmark = pytest.mark.core

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
SIZES = ((), (0,), (1,), (15,), (16,), (17,), (3, 5, 7), (1000,), (100_003,))
SEEDS = (0, 1, 2**40 + 3, -5)
BIG = 100_003


def exact(body: Callable[[Any], Any], seed: int = 0) -> None:
    """Assert that the body's tensors and the default generator's state are byte-equal."""
    found = []
    for torch in (real_torch, mstorch):
        torch.manual_seed(seed)
        result = body(torch)
        found.append((list(result) if isinstance(result, (tuple, list)) else [result], torch.get_rng_state()))
    (want, want_state), (got, got_state) = found
    for w, g in zip(want, got):
        assert str(w.dtype) == str(g.dtype) and tuple(w.shape) == tuple(g.shape) and w.stride() == g.stride()
        assert values(w).tobytes() == values(g).tobytes()
    assert want_state.numpy().tobytes() == got_state.numpy().tobytes(), "the states differ"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
@pytest.mark.parametrize("name", ["rand", "randn"])
def test_floats(name: str, dtype: str, size: tuple[int, ...]) -> None:
    for seed in SEEDS:
        exact(lambda torch: getattr(torch, name)(size, dtype=getattr(torch, dtype)), seed)


@pytest.mark.parametrize("dtype", [*INTS, "float32", "float16"])
def test_integers(dtype: str) -> None:
    for seed in SEEDS:
        exact(lambda torch: [torch.randint(3, 90, size, dtype=getattr(torch, dtype)) for size in SIZES], seed)
        exact(lambda torch: [torch.zeros(size, dtype=getattr(torch, dtype)).random_() for size in SIZES], seed)
        exact(lambda torch: [torch.zeros(size, dtype=getattr(torch, dtype)).random_(9) for size in SIZES], seed)
        exact(lambda torch: [torch.zeros(size, dtype=getattr(torch, dtype)).random_(2, 77) for size in SIZES], seed)


def test_wide_integers() -> None:
    exact(lambda torch: [torch.randint(-(2**62), 2**62, (20,)), torch.randint(2**29, (20,)), torch.zeros(9, dtype=torch.int64).random_()])


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 1000, 30_000, BIG])
def test_permutations(n: int) -> None:
    for seed in SEEDS:
        exact(lambda torch: [torch.randperm(n), torch.randperm(n, dtype=torch.int32)], seed)


FILLS: dict[str, Callable[[Any], Any]] = {
    "uniform_": lambda t: t.uniform_(-2, 3),
    "normal_": lambda t: t.normal_(1.5, 0.3),
    "exponential_": lambda t: t.exponential_(1.7),
    "geometric_": lambda t: t.geometric_(0.3),
    "cauchy_": lambda t: t.cauchy_(1, 2),
    "log_normal_": lambda t: t.log_normal_(0.5, 0.25),
    "bernoulli_": lambda t: t.bernoulli_(0.3),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FILLS)
def test_fills(name: str, dtype: str) -> None:
    for size in SIZES:
        for seed in SEEDS if size != (BIG,) else SEEDS[:2]:
            exact(lambda torch, size=size: FILLS[name](torch.empty(size, dtype=getattr(torch, dtype))), seed)


@pytest.mark.parametrize("dtype", INTS)
def test_fills_of_integers(dtype: str) -> None:
    for size in SIZES:
        exact(lambda torch, size=size: [torch.empty(size, dtype=getattr(torch, dtype)).bernoulli_(0.3),
                                        torch.empty(size, dtype=getattr(torch, dtype)).geometric_(0.4)])  # fmt: skip


@pytest.mark.parametrize("name", FILLS)
def test_fills_of_strided_tensors(name: str) -> None:
    exact(lambda torch: FILLS[name](torch.zeros(6, 8).t()))
    exact(lambda torch: FILLS[name](torch.zeros(6, 8)[:, ::2]))
    exact(lambda torch: FILLS[name](torch.zeros(4, 5, 6).permute(2, 0, 1)))


def test_likes_and_options() -> None:
    exact(lambda torch: [torch.rand_like(torch.zeros(3, 4)), torch.randn_like(torch.zeros(20)), torch.randint_like(torch.zeros(5), 9)])
    exact(lambda torch: [torch.rand(3, generator=torch.Generator().manual_seed(4)), torch.randn(3, out=torch.empty(3))])
    exact(lambda torch: [torch.rand_like(torch.zeros(3, 4).t()), torch.randn_like(torch.zeros(5, 6).t())])


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype: str) -> None:
    def around(torch: Any, size: tuple[int, ...]) -> list[Any]:
        kind = getattr(torch, dtype)
        means, stds = torch.full(size, 0.75, dtype=kind), torch.full(size, 1.5, dtype=kind)
        return [torch.normal(means, 2.0), torch.normal(1.0, stds), torch.normal(means, stds)]

    for size in SIZES:
        for seed in SEEDS:
            exact(lambda torch, size=size: around(torch, size), seed)
    exact(lambda torch: [torch.normal(0.5, 2.0, size) for size in SIZES])
    exact(lambda torch: torch.normal(torch.arange(5.0), torch.arange(1.0, 4.0)[:, None]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli(dtype: str) -> None:
    def drawn(torch: Any, size: tuple[int, ...]) -> list[Any]:
        kind = getattr(torch, dtype)
        chances = torch.linspace(0, 1, math.prod(size)).reshape(size).to(kind)
        return [torch.bernoulli(chances), torch.bernoulli(chances, 0.4), torch.empty(size, dtype=kind).bernoulli_(chances.float()),
                torch.empty(size, dtype=torch.int64).bernoulli_(chances)]  # fmt: skip

    for size in SIZES:
        for seed in SEEDS:
            exact(lambda torch, size=size: drawn(torch, size), seed)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000, BIG])
def test_dropout(n: int, dtype: str) -> None:
    shapes = {"dropout": (n,), "dropout1d": (2, n, 4), "dropout2d": (2, n, 2, 3), "dropout3d": (1, n, 2, 1, 2),
              "alpha_dropout": (n,), "feature_alpha_dropout": (2, n, 2)}  # fmt: skip
    for name, shape in shapes.items():
        for p in (0.3, 0.5, 0.0, 1.0):
            exact(lambda torch, name=name, shape=shape, p=p: getattr(torch.nn.functional, name)(
                torch.ones(shape, dtype=getattr(torch, dtype)), p, training=True))  # fmt: skip


def test_rrelu() -> None:
    exact(lambda torch: [torch.nn.functional.rrelu(torch.linspace(-3, 3, n), 0.1, 0.4, training=True) for n in (1, 16, 17, 1000, BIG)])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(replacement: bool, dtype: str) -> None:
    for seed in SEEDS:
        exact(lambda torch: torch.multinomial(torch.tensor([0.1, 0.0, 3.0, 2.0, 0.7], dtype=getattr(torch, dtype)), 4, replacement), seed)
        exact(lambda torch: torch.multinomial(torch.rand(6, 9).to(getattr(torch, dtype)), 5, replacement), seed)
        exact(lambda torch: torch.multinomial(torch.rand(1000).to(getattr(torch, dtype)), 17, replacement), seed)


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson(dtype: str) -> None:
    for seed in SEEDS:
        exact(lambda torch: [torch.poisson(torch.tensor([0.0, 0.5, 3.0, 12.0, 400.0], dtype=getattr(torch, dtype))),
                             torch.poisson(torch.full((1000,), 4.0, dtype=getattr(torch, dtype)))], seed)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_and_others(dtype: str) -> None:
    def drawn(torch: Any) -> list[Any]:
        alpha = torch.linspace(0.05, 9, 400, dtype=getattr(torch, dtype))
        return [torch._standard_gamma(alpha), torch._sample_dirichlet(alpha.reshape(80, 5)),
                torch.binomial(torch.full((50,), 30.0, dtype=alpha.dtype), torch.linspace(0, 1, 50, dtype=alpha.dtype))]  # fmt: skip

    for seed in SEEDS:
        exact(drawn, seed)


INITIALISERS: dict[str, Callable[[Any], Any]] = {
    "uniform_": lambda init: lambda t: init.uniform_(t, -1, 2),
    "normal_": lambda init: lambda t: init.normal_(t, 0.5, 2),
    "trunc_normal_": lambda init: lambda t: init.trunc_normal_(t, std=0.7),
    "xavier_uniform_": lambda init: init.xavier_uniform_,
    "xavier_normal_": lambda init: init.xavier_normal_,
    "kaiming_uniform_": lambda init: lambda t: init.kaiming_uniform_(t, a=5**0.5),
    "kaiming_normal_": lambda init: lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
    "sparse_": lambda init: lambda t: init.sparse_(t, 0.3),
    "dirac_": lambda init: lambda t: init.dirac_(t.reshape(*t.shape, 1)),
    "eye_": lambda init: init.eye_,
}


@pytest.mark.parametrize("name", INITIALISERS)
def test_initialisers(name: str) -> None:
    for shape in ((3, 5), (16, 16), (17, 1), (100, 37)):
        for seed in SEEDS:
            exact(lambda torch, shape=shape: INITIALISERS[name](torch.nn.init)(torch.empty(shape)), seed)


@pytest.mark.parametrize("shape", [(3, 5), (16, 16), (40, 7), (4, 3, 5)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    found = []
    for torch in (real_torch, mstorch):
        torch.manual_seed(3)
        found.append(values(torch.nn.init.orthogonal_(torch.empty(shape), 1.5)))
        found.append(values(torch.get_rng_state()))
    np.testing.assert_allclose(found[2], found[0], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found[3], found[1])


def test_threads_share_a_generator() -> None:
    """Every number of the stream is drawn once, by whichever thread."""
    mstorch.manual_seed(0)
    drawn: list[list[float]] = []

    def some() -> None:
        for _ in range(200):
            drawn.append(mstorch.rand(3).tolist())

    threads = [threading.Thread(target=some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mstorch.manual_seed(0)
    assert sorted(drawn) == sorted(mstorch.rand(3).tolist() for _ in range(800))


_DRAWS: list[Callable[[Any], Any]] = [
    lambda torch: torch.rand(3), lambda torch: torch.randn(5), lambda torch: torch.randn(17), lambda torch: torch.rand(700),
    lambda torch: torch.randint(10, (4,)), lambda torch: torch.randperm(9), lambda torch: torch.empty(3).exponential_(),
    lambda torch: torch.bernoulli(torch.full((5,), 0.5)), lambda torch: torch.randn(4, dtype=torch.float64),
    lambda torch: torch.empty(2).normal_(), lambda torch: torch.multinomial(torch.ones(5), 2), lambda torch: torch.rand(0),
]  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(st.integers(0, len(_DRAWS) - 1), min_size=1, max_size=40), st.integers(0, 2**32))
def test_long_sequences(steps: list[int], seed: int) -> None:
    exact(lambda torch: [_DRAWS[step](torch) for step in steps], seed)


def test_states_are_exchanged() -> None:
    real_torch.manual_seed(11)
    real_torch.randn(7)
    state = real_torch.get_rng_state()
    mstorch.set_rng_state(mstorch.from_numpy(state.numpy()))
    assert mstorch.randn(30).numpy().tobytes() == real_torch.randn(30).numpy().tobytes()
    generator = mstorch.Generator().manual_seed(3)
    mstorch.rand(5, generator=generator)
    theirs = real_torch.Generator()
    theirs.set_state(real_torch.from_numpy(generator.get_state().numpy()))
    assert mstorch.rand(9, generator=generator).numpy().tobytes() == real_torch.rand(9, generator=theirs).numpy().tobytes()
    assert generator.initial_seed() == theirs.initial_seed() == 3


def test_generators() -> None:
    generator = mstorch.Generator()
    assert generator.initial_seed() == real_torch.Generator().initial_seed() == 67280421310721
    copied = generator.clone_state()
    assert mstorch.rand(4, generator=generator).tolist() == mstorch.rand(4, generator=copied).tolist()
    assert generator.device == mstorch.device("cpu")
    assert mstorch.manual_seed(5) is mstorch.default_generator and mstorch.initial_seed() == 5
    assert 0 <= mstorch.seed() < 2**64
    with mstorch.random.fork_rng():
        mstorch.manual_seed(1)
        inside = mstorch.rand(1).item()
    mstorch.manual_seed(1)
    assert mstorch.rand(1).item() == inside


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.randn(3, dtype=torch.int64),
        lambda torch: torch.rand(-1),
        lambda torch: torch.normal(0.0, -1.0, (3,)),
        lambda torch: torch.normal(torch.zeros(2), torch.tensor([1.0, -1.0])),
        lambda torch: torch.empty(3).normal_(0, -1),
        lambda torch: torch.empty(3).uniform_(2, 1),
        lambda torch: torch.empty(3).exponential_(-1),
        lambda torch: torch.empty(3).bernoulli_(1.5),
        lambda torch: torch.bernoulli(torch.tensor([0.5, 1.5])),
        lambda torch: torch.empty(3).geometric_(0),
        lambda torch: torch.empty(3).cauchy_(0, -1),
        lambda torch: torch.empty(3).log_normal_(0, -1),
        lambda torch: torch.randint(3, 3, (2,)),
        lambda torch: torch.randint(0, 300, (2,), dtype=torch.uint8),
        lambda torch: torch.randperm(-1),
        lambda torch: torch.multinomial(torch.tensor([1.0, -1.0]), 1),
        lambda torch: torch.multinomial(torch.ones(2), 3),
        lambda torch: torch.multinomial(torch.ones(2), 0),
        lambda torch: torch.multinomial(torch.zeros(2), 1),
        lambda torch: torch.poisson(torch.tensor([-1.0])),
        lambda torch: torch.Generator().set_state(torch.zeros(10, dtype=torch.uint8)),
        lambda torch: torch.Generator().set_state(torch.zeros(5056)),
        lambda torch: torch.Generator().manual_seed(2**64),
        lambda torch: torch.nn.functional.dropout(torch.ones(2), 1.5),
        lambda torch: torch.ones(2, requires_grad=True).uniform_(),
    ],
)  # fmt: skip
def test_errors(both: Callable[..., Any], body: Callable[[Any], Any]) -> None:
    both(body)


def _digits(torch: Any) -> list[float]:
    """Return batch losses of a small CNN with dropout and shuffling, three epochs."""
    data = np.random.RandomState(0).rand(256, 1, 8, 8).astype(np.float32)
    labels = np.random.RandomState(1).randint(0, 10, 256)
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.1), nn.Flatten(), nn.Linear(128, 32), nn.ReLU(),
        nn.Dropout(0.5), nn.Linear(32, 10),
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.from_numpy(data), torch.from_numpy(labels)), batch_size=32, shuffle=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(3):
        for images, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def test_a_training_run_keeps_its_losses() -> None:
    np.testing.assert_allclose(_digits(mstorch), _digits(real_torch), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("concentration", [0.05, 0.7, 1.5, 6.0, 8.5, 100.0])
def test_gamma_samples_have_torchs_gradient(both: Any, concentration: float, dtype: str) -> None:
    def body(torch: Any) -> Any:
        alpha = torch.full((300,), concentration, dtype=getattr(torch, dtype), requires_grad=True)
        torch._standard_gamma(alpha).sum().backward()
        return alpha.grad

    both(body, rtol=1e-6 if dtype == "float32" else 1e-12, atol=0)


def test_dirichlet_slopes(both: Any) -> None:
    rng = np.random.RandomState(0)
    a, b = np.exp(rng.uniform(-3, 5, (2, 2000)))
    x = rng.beta(a, b)
    both(lambda torch: torch._dirichlet_grad(*map(torch.tensor, (x, a, a + b))), rtol=1e-11, atol=0)


def test_what_has_no_gradient(both: Any) -> None:
    def dirichlet(torch: Any) -> Any:
        return torch._sample_dirichlet(torch.ones(3, requires_grad=True)).sum().backward()

    both(dirichlet)


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "float16"])
@pytest.mark.parametrize("call", [
    "t.randn([0], dtype=d)", "t.rand([0], dtype=d)", "t.randn([2], dtype=d).shape", "t.randn(0, 3, dtype=d)", "t.normal(0.0, 1.0, (0,), dtype=d)",
    "e.normal_()", "e.uniform_()", "e.exponential_()", "e.exponential_(-1)", "e.cauchy_()", "e.log_normal_()", "e.geometric_(0.5)", "e.bernoulli_()",
    "t.randn_like(e)", "t.rand_like(e)", "t.bernoulli(e)", "e.random_()", "t.randint(3, (0,), dtype=d)", "t.ones(2, dtype=d).log_normal_().shape",
    "t.ones(2, dtype=d).exponential_().shape",
])  # fmt: skip
def test_dtypes_of_nothing_to_draw(both, call, dtype):
    """torch checks the dtype of some draws only if there is an element to draw."""
    both(lambda torch: eval(call, {"t": torch, "d": getattr(torch, dtype), "e": torch.empty(0, dtype=getattr(torch, dtype))}))
