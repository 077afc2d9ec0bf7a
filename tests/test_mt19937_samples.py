"""Samples of every distribution, and the generator state after them, equal torch's without tolerance."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mstorch._src import mt19937 as rng

SIZES = [0, 1, 5, 15, 16, 17, 31, 64, 65, 250, 257, 1000, 100_003]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]


def bits(values: torch.Tensor | np.ndarray) -> tuple[tuple[int, ...], bytes]:
    if isinstance(values, torch.Tensor):
        values = (values.float() if values.dtype == torch.bfloat16 else values).detach().numpy()
    return values.shape, np.ascontiguousarray(values).tobytes()


class Pair:
    """An engine and torch's generator side by side."""

    def __init__(self, seed: int) -> None:
        self.engine = rng.Engine(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def agree(self, ours: np.ndarray, theirs: torch.Tensor) -> None:
        expected = torch.float32 if theirs.dtype == torch.bfloat16 else theirs.dtype
        assert torch.from_numpy(ours[:0].reshape(-1) if ours.ndim else ours.reshape(1)).dtype == expected
        assert bits(ours) == bits(theirs)
        assert self.engine.get_state() == self.generator.get_state().numpy().tobytes()


def empty(n: int | tuple[int, ...], dtype: str) -> torch.Tensor:
    return torch.empty(n, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_uniform(n: int, dtype: str) -> None:
    pair = Pair(n)
    for low, high in ((0, 1), (-0.3, 0.7), (0, 5), (-0.0357, 0.0357), (-2, 2), (1e-3, 2e3), (2, 2), (-1e-38, 1e-38)):
        theirs = empty(n, dtype).uniform_(low, high, generator=pair.generator)
        pair.agree(rng.uniform(pair.engine, (n,), low, high, dtype), theirs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_normal(n: int, dtype: str) -> None:
    pair = Pair(n)
    cases = [(0, 1), (0.3, 0.7), (0, 0.02), (5, 1), (0, 0), (-1.5, 3e-5), (1e3, 0), (1e-30, 1e-30), (1e200, 1e-200)]
    if dtype != "float64":
        cases = cases[:-1]
    for mean, std in cases:
        theirs = empty(n, dtype).normal_(mean, std, generator=pair.generator)
        pair.agree(rng.normal(pair.engine, (n,), mean, std, dtype), theirs)
        if n < 2000:
            apart = empty((n, 2), dtype)[:, 0] if n > 1 else empty(n, dtype)
            apart.normal_(mean, std, generator=pair.generator)
            pair.agree(rng.normal(pair.engine, (n,), mean, std, dtype, apart.is_contiguous()), apart)


@pytest.mark.parametrize("n", [16, 24, 100, 250])
def test_normal_of_every_table_position(n: int) -> None:
    pair = Pair(7)
    for _ in range(624 // 16 + 10):
        pair.agree(rng.normal(pair.engine, (n,)), torch.randn(n, generator=pair.generator))
        pair.agree(rng.uniform(pair.engine, (1,)), torch.rand(1, generator=pair.generator))


def _untemper(outputs: np.ndarray) -> np.ndarray:
    """Return the key words that the twister turns into these outputs."""
    y = outputs.astype(np.uint32)
    y ^= y >> np.uint32(18)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    z = y.copy()
    for _ in range(5):
        z = y ^ ((z << np.uint32(7)) & np.uint32(0x9D2C5680))
    y, x = z, z.copy()
    for _ in range(3):
        x = y ^ (x >> np.uint32(11))
    return x


@pytest.mark.parametrize("stride", [127, 1013])
def test_normal_of_chosen_words(stride: int) -> None:
    """Radii and angles over their whole range of 2^24 words, from manipulated states."""
    words = np.concatenate((np.arange(40), np.arange(0, 1 << 24, stride), (1 << 24) - 1 - np.arange(40)))
    words = words[: len(words) // 8 * 8].astype(np.uint32)
    partners = (words * np.uint32(2654435761)) & np.uint32(0xFFFFFF)
    stream = np.stack((words.reshape(-1, 8), partners.reshape(-1, 8)), 1).reshape(-1)
    engine, generator = rng.Engine(), torch.Generator()
    for start in range(0, len(stream), 608):
        chosen = stream[start : start + 608]
        state = bytearray(rng.STATE_SIZE)
        state[8:24] = np.array([624, 1, 1, 0], "<i4").tobytes()
        state[24 + 8 : 24 + 8 + 8 * len(chosen)] = _untemper(chosen).astype("<u8").tobytes()
        engine.set_state(state)
        generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
        n = len(chosen) // 16 * 16
        assert bits(rng.normal(engine, (n,))) == bits(torch.randn(n, generator=generator))


def test_zero_words() -> None:
    """The uniform number 0 in every place: its logarithm, its radius, and signs of zeros."""
    state = bytearray(rng.STATE_SIZE)
    state[8:24] = np.array([624, 1, 1, 0], "<i4").tobytes()
    for dtype in FLOATS:
        draws = [
            *(("uniform_", rng.uniform, ()), ("uniform_", rng.uniform, (-1.0, 1.0)), ("normal_", rng.normal, ())),
            *(("normal_", rng.normal, (0.0, 0.5)), ("exponential_", rng.exponential, ())),
            *(("cauchy_", rng.cauchy, ()), ("geometric_", rng.geometric, (0.3,)), ("log_normal_", rng.log_normal, ())),
        ]
        for method, function, arguments in draws:
            for n in (5, 16, 33, 150, 200):
                pair = Pair(0)
                pair.engine.set_state(state)
                pair.generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
                theirs = getattr(empty(n, dtype), method)(*arguments, generator=pair.generator)
                ours = function(pair.engine, (n,), *arguments, dtype=dtype)
                assert bits(ours) == bits(theirs), (method, n, dtype, arguments)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", SIZES)
def test_complex(n: int, dtype: str) -> None:
    pair = Pair(n)
    keywords: dict[str, Any] = {"dtype": getattr(torch, dtype), "generator": pair.generator}
    pair.agree(rng.uniform(pair.engine, (n,), dtype=dtype), torch.rand(n, **keywords))
    pair.agree(rng.normal(pair.engine, (n,), dtype=dtype), torch.randn(n, **keywords))


@pytest.mark.parametrize("shape", [(), (3,), (3, 4, 5), (0, 3), (20, 30), (2, 1, 1000)])
def test_shapes(shape: tuple[int, ...]) -> None:
    pair = Pair(4)
    g, e = pair.generator, pair.engine
    pair.agree(rng.uniform(e, shape), torch.rand(shape, generator=g))
    pair.agree(rng.normal(e, shape), torch.randn(shape, generator=g))
    pair.agree(rng.normal(e, shape, dtype="complex64"), torch.randn(shape, generator=g, dtype=torch.complex64))
    pair.agree(rng.random_between(e, shape, 0, 10), torch.randint(0, 10, shape, generator=g))
    pair.agree(rng.bernoulli(e, shape, 0.3), torch.empty(shape).bernoulli_(0.3, generator=g))
    pair.agree(rng.exponential(e, shape), torch.empty(shape).exponential_(generator=g))
    pair.agree(rng.log_normal(e, shape), torch.empty(shape).log_normal_(generator=g))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [5, 16, 17, 1000])
def test_normal_around(n: int, dtype: str) -> None:
    pair = Pair(n)
    mean, std = np.linspace(-2, 2, n).astype(dtype), np.linspace(0.1, 3, n).astype(dtype)
    for m, s in ((mean, std), (mean, 0.3), (0.7, std)):
        arguments = (torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in (m, s))
        theirs = torch.normal(*arguments, generator=pair.generator)
        pair.agree(rng.normal_around(pair.engine, m, s, dtype), theirs)
    matrix = torch.normal(torch.from_numpy(mean)[:, None], torch.from_numpy(std)[None], generator=pair.generator)
    pair.agree(rng.normal_around(pair.engine, mean[:, None], std[None], dtype), matrix)


@pytest.mark.parametrize("n", SIZES)
def test_random_all(n: int) -> None:
    pair = Pair(n)
    for dtype in (*INTEGERS, "bool", *FLOATS):
        theirs = empty(n, dtype).random_(generator=pair.generator)
        pair.agree(rng.random_all(pair.engine, (n,), dtype), theirs)


@pytest.mark.parametrize("n", [0, 1, 17, 64, 65, 1000, 100_003])
def test_randint(n: int) -> None:
    pair = Pair(n)
    for low, high in (
        *((0, 10), (-5, 5), (0, 16), (7, 8), (0, 2**28 - 1), (0, 2**28), (0, 2**28 + 1), (0, 2**31), (-(2**31), 2**31)),
        *((0, 2**32 - 1), (0, 2**32), (0, 2**33 + 5), (-(2**62), 2**62), (-(2**63), 2**63 - 1), (0, 2**63 - 1)),
        *((2**62, 2**62 + 9), (-(2**63), -(2**63) + 9)),
    ):
        theirs = torch.randint(low, high, (n,), generator=pair.generator)
        pair.agree(rng.random_between(pair.engine, (n,), low, high), theirs)


@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("n", [1, 17, 70_001])
@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        *(("int32", -(2**31), 2**31 - 1), ("int16", -5, 300), ("uint8", 0, 256), ("int8", -128, 128), ("bool", 0, 2)),
        *(("float32", 0, 2**24), ("float32", -7, 2**30), ("float32", 2**24 + 1, 2**25 + 3), ("float64", 0, 2**53)),
        *(("float16", 0, 2048), ("float16", -2051, 65504), ("bfloat16", -10, 256), ("bfloat16", -259, 1001)),
        *(("int64", 5, None), ("int32", -3, None), ("uint8", 7, None), ("bool", 1, None), ("float32", 3, None)),
        *(("float64", -9, None), ("float16", 5, None), ("bfloat16", -300, None), ("int16", -(2**15), None)),
        *(("int64", -(2**63), None), ("float32", -(2**63), None), ("float64", -(2**63), None)),
        ("uint32", 0, 9),
    ],
)
def test_random_between(n: int, dtype: str, low: int, high: int | None) -> None:
    pair = Pair(n)
    theirs = empty(n, dtype).random_(low, high, generator=pair.generator)
    pair.agree(rng.random_between(pair.engine, (n,), low, high, dtype), theirs)


@pytest.mark.parametrize("n", [*range(8), 100, 150, 151, 152, 200, 257, 1500, 10_007, 65_537, 300_000, 1_000_003])
def test_permutation(n: int) -> None:
    pair = Pair(n)
    for _ in range(3 if n > 2000 else 20):
        pair.agree(rng.permutation(pair.engine, n), torch.randperm(n, generator=pair.generator))


@pytest.mark.parametrize("dtype", ["int32", "int16", "float32", "float64", "float16", "bfloat16"])
def test_permutation_dtypes(dtype: str) -> None:
    pair = Pair(5)
    for n in (9, 1000):
        theirs = torch.randperm(n, dtype=getattr(torch, dtype), generator=pair.generator)
        pair.agree(rng.permutation(pair.engine, n, dtype), theirs)


def test_permutation_inside_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop for 2^32 / 20 elements, which is too slow to compare with torch, is compared with the definition."""
    monkeypatch.setattr(rng.integer, "_INSIDE_OUT", 2)
    engine, twin = rng.Engine(1), rng.Engine(1)
    expected = np.arange(1000)
    for i, word in enumerate(twin.words64(1000).tolist()):
        partner = word % (i + 1)
        expected[i], expected[partner] = expected[partner], i
    assert np.array_equal(rng.permutation(engine, 1000), expected)
    assert engine.get_state() == twin.get_state()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
@pytest.mark.parametrize("n", SIZES)
def test_bernoulli(n: int, dtype: str) -> None:
    pair = Pair(n)
    for probability in (0.0, 0.3, 0.5, 0.9, 1.0, 1e-4, 1 - 2**-53):
        theirs = empty(n, dtype).bernoulli_(probability, generator=pair.generator)
        pair.agree(rng.bernoulli(pair.engine, (n,), probability, dtype), theirs)


@pytest.mark.parametrize("n", SIZES)
def test_bernoulli_each(n: int) -> None:
    pair = Pair(n)
    probabilities = np.random.RandomState(0).rand(n)
    for dtype in ("float32", "float64", "float16"):
        p = probabilities.astype(dtype)
        theirs = torch.bernoulli(torch.from_numpy(p), generator=pair.generator)
        pair.agree(rng.bernoulli_each(pair.engine, p, dtype), theirs)
        theirs = empty(n, "int32").bernoulli_(torch.from_numpy(p), generator=pair.generator)
        pair.agree(rng.bernoulli_each(pair.engine, p, "int32"), theirs)


@pytest.mark.parametrize("n", [1, 17, 1000, 100_003])
@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.3333, 0.9])
def test_dropout_mask(n: int, p: float) -> None:
    torch.manual_seed(n)
    theirs = torch.nn.functional.dropout(torch.ones(n), p) != 0
    engine = rng.Engine(n)
    assert bits(rng.dropout_mask(engine, n, 1 - p)) == bits(theirs)
    assert engine.get_state() == torch.get_rng_state().numpy().tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 17, 64, 65, 1000, 50_003])
def test_continuous(n: int, dtype: str) -> None:
    pair = Pair(n)
    cases: list[tuple[Callable[..., np.ndarray], str, list[tuple[float, ...]]]] = [
        (rng.exponential, "exponential_", [(1.0,), (2.7,), (1e-3,)]),
        (rng.geometric, "geometric_", [(0.2,), (0.999,)]),
        (rng.cauchy, "cauchy_", [(0.0, 1.0), (0.5, 2.5)]),
        (rng.log_normal, "log_normal_", [(1.0, 2.0), (0.1, 0.3)]),
    ]
    for function, method, arguments in cases:
        for values in arguments:
            theirs = getattr(empty(n, dtype), method)(*values, generator=pair.generator)
            pair.agree(function(pair.engine, (n,), *values, dtype), theirs)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_geometric_integers(dtype: str) -> None:
    pair = Pair(2)
    pair.agree(
        rng.geometric(pair.engine, (1000,), 0.3, dtype), empty(1000, dtype).geometric_(0.3, generator=pair.generator)
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("categories", [1, 2, 7, 100, 5000])
def test_multinomial(categories: int, dtype: str) -> None:
    pair = Pair(categories)
    weights = torch.from_numpy(np.random.RandomState(categories).rand(4, categories) + 0.001).to(getattr(torch, dtype))
    array = (weights.float() if dtype == "bfloat16" else weights).numpy()
    for row in (0, slice(None)):
        for count, replacement in ((1, False), (1, True), (2, True), (50, True), (1000, True), (2, False), (50, False)):
            if not replacement and count > categories:
                continue
            theirs = torch.multinomial(weights[row], count, replacement, generator=pair.generator)
            pair.agree(rng.multinomial(pair.engine, array[row], count, replacement, dtype), theirs)


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson(dtype: str) -> None:
    pair = Pair(2)
    rates = np.concatenate((np.linspace(0, 9.9, 500), np.linspace(10, 2000, 1500)))
    tensor = torch.from_numpy(rates).to(getattr(torch, dtype))
    array = (tensor.float() if dtype == "bfloat16" else tensor).numpy()
    pair.agree(rng.poisson(pair.engine, array, dtype), torch.poisson(tensor, generator=pair.generator))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binomial(dtype: str) -> None:
    pair = Pair(2)
    counts = np.concatenate((np.arange(0, 60), np.arange(100, 3000, 7), np.full(11, 1e6))).astype(dtype)
    for p in (0.0, 0.01, 0.1, 0.3, 0.5, 0.51, 0.8, 0.999, 1.0):
        probabilities = np.full_like(counts, p)
        theirs = torch.binomial(torch.from_numpy(counts), torch.from_numpy(probabilities), generator=pair.generator)
        pair.agree(rng.binomial(pair.engine, counts, probabilities), theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(dtype: str) -> None:
    pair = Pair(3)
    shapes = np.concatenate(([0.0], np.linspace(0.01, 0.99, 500), np.linspace(1, 50, 1000))).astype(dtype)
    theirs = torch._standard_gamma(torch.from_numpy(shapes), generator=pair.generator)
    pair.agree(rng.standard_gamma(pair.engine, shapes), theirs)


@pytest.mark.parametrize("n", [3, 33, 1000, 40_000])
def test_samples_of_equal_parameters(n: int) -> None:
    pair = Pair(5)
    for number in (0.3, 1.0, 1.34, 1.5, 2.0, 50.0):
        for cached in (0, 1):  # the second time a normal is left from an odd number of draws
            theirs = empty(cached, "float32").normal_(generator=pair.generator)
            pair.agree(rng.normal(pair.engine, (cached,)), theirs)
            theirs = torch._standard_gamma(torch.full((n,), number), generator=pair.generator)
            pair.agree(rng.standard_gamma(pair.engine, np.full(n, number, np.float32)), theirs)
    for rate in (0.0, 0.4, 9.5, 10.0, 12.3, 1e3, 1e6):
        theirs = torch.poisson(torch.full((n,), rate), generator=pair.generator)
        pair.agree(rng.poisson(pair.engine, np.full(n, rate, np.float32)), theirs)
    for count, p in ((0.0, 0.5), (10.0, 0.3), (40.0, 0.5), (1e4, 0.7), (1e6, 1.0)):
        theirs = torch.binomial(torch.full((n,), count), torch.full((n,), p), generator=pair.generator)
        pair.agree(rng.binomial(pair.engine, np.full(n, count, np.float32), np.full(n, p, np.float32)), theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("categories", [1, 2, 5, 8, 16, 37, 300, 3000])
def test_dirichlet(categories: int, dtype: str) -> None:
    pair = Pair(4)
    concentration = (np.random.RandomState(0).rand(3, categories) * 3 + 0.01).astype(dtype)
    theirs = torch._sample_dirichlet(torch.from_numpy(concentration), generator=pair.generator)
    pair.agree(rng.dirichlet(pair.engine, concentration), theirs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("mean", "std", "low", "high"),
    [
        *((0, 1, -2, 2), (0, 0.02, -2, 2), (0, 1, -1, 1.5), (0.3, 0.7, 0.1, 3), (2.5, 1, -2, 2), (0, 2, -1, 1.6)),
        *((1, 2, -1, 0), (0, 1, 1, 4), (0, 1, -5, -1.5), (0, 3, -0.1, 0.1)),
    ],
)
def test_trunc_normal(mean: float, std: float, low: float, high: float, dtype: str) -> None:
    for shape in ((3,), (200, 50)):
        pair = Pair(6)
        theirs = torch.nn.init.trunc_normal_(empty(shape, dtype), mean, std, low, high, generator=pair.generator)
        pair.agree(rng.trunc_normal(pair.engine, shape, mean, std, low, high, dtype), theirs)


@pytest.mark.parametrize("bounds", [(-1, 1.5), (1, 4)])
def test_trunc_normal_of_strided_tensors(bounds: tuple[float, float]) -> None:
    for tensor, dense in ((torch.empty(30, 20).t(), True), (torch.empty(20, 60)[:, ::2], False)):
        pair = Pair(6)
        theirs = torch.nn.init.trunc_normal_(tensor, 0, 1, *bounds, generator=pair.generator)
        in_memory_order = theirs.t() if dense else theirs
        shape = tuple(in_memory_order.shape)
        pair.agree(rng.trunc_normal(pair.engine, shape, 0, 1, *bounds, contiguous=False, like_contiguous=not dense), in_memory_order)


@pytest.mark.parametrize("n", [3_000_001])
def test_large(n: int) -> None:
    pair = Pair(11)
    e, g = pair.engine, pair.generator
    pair.agree(rng.uniform(e, (n,)), torch.rand(n, generator=g))
    pair.agree(rng.uniform(e, (n,), -0.1, 0.3), torch.empty(n).uniform_(-0.1, 0.3, generator=g))
    pair.agree(rng.normal(e, (n,), 0.3, 0.7), torch.empty(n).normal_(0.3, 0.7, generator=g))
    pair.agree(rng.exponential(e, (n,)), torch.empty(n).exponential_(generator=g))
    pair.agree(rng.bernoulli(e, (n,), 0.3), torch.empty(n).bernoulli_(0.3, generator=g))
    pair.agree(rng.random_between(e, (n,), 0, 1000), torch.randint(0, 1000, (n,), generator=g))


DRAWS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., torch.Tensor]]] = {
    "uniform": (lambda e, n: rng.uniform(e, (n,)), lambda g, n: torch.rand(n, generator=g)),
    "uniform64": (
        lambda e, n: rng.uniform(e, (n,), dtype="float64"),
        lambda g, n: torch.rand(n, generator=g, dtype=torch.float64),
    ),
    "normal": (lambda e, n: rng.normal(e, (n,)), lambda g, n: torch.randn(n, generator=g)),
    "normal64": (
        lambda e, n: rng.normal(e, (n,), dtype="float64"),
        lambda g, n: torch.randn(n, generator=g, dtype=torch.float64),
    ),
    "randint": (lambda e, n: rng.random_between(e, (n,), -3, 9), lambda g, n: torch.randint(-3, 9, (n,), generator=g)),
    "permutation": (lambda e, n: rng.permutation(e, n), lambda g, n: torch.randperm(n, generator=g)),
    "bernoulli": (
        lambda e, n: rng.bernoulli(e, (n,), 0.4),
        lambda g, n: torch.empty(n).bernoulli_(0.4, generator=g),
    ),
    "exponential": (
        lambda e, n: rng.exponential(e, (n,)),
        lambda g, n: torch.empty(n).exponential_(generator=g),
    ),
    "gamma": (
        lambda e, n: rng.standard_gamma(e, np.full(n % 50, 0.7, np.float32)),
        lambda g, n: torch._standard_gamma(torch.full((n % 50,), 0.7), generator=g),
    ),
    "gammas of one shape": (
        lambda e, n: rng.standard_gamma(e, np.full(n, 1.6, np.float32)),
        lambda g, n: torch._standard_gamma(torch.full((n,), 1.6), generator=g),
    ),
    "large poisson": (
        lambda e, n: rng.poisson(e, np.full(n, 11.0)), lambda g, n: torch.poisson(torch.full((n,), 11.0).double(), generator=g),
    ),
    "multinomial": (
        lambda e, n: rng.multinomial(e, np.array([0.1, 0.2, 0.7]), n + 1, True),
        lambda g, n: torch.multinomial(torch.tensor([0.1, 0.2, 0.7]).double(), n + 1, True, generator=g),
    ),
}


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**64 - 1),
    st.lists(
        st.tuples(st.sampled_from(sorted(DRAWS)), st.one_of(st.integers(0, 70), st.integers(0, 1300))),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_mixed_draws(seed: int, draws: list[tuple[str, int]], reload: bool) -> None:
    pair = Pair(seed)
    for name, n in draws:
        ours, theirs = DRAWS[name]
        if name == "multinomial":
            assert np.array_equal(ours(pair.engine, n), theirs(pair.generator, n).numpy())
        else:
            pair.agree(ours(pair.engine, n), theirs(pair.generator, n))
        if reload:
            pair.engine.set_state(pair.engine.get_state())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda e: rng.uniform(e, (3,), 1, 0), lambda: torch.empty(3).uniform_(1, 0)),
        (lambda e: rng.normal(e, (3,), 0, -1), lambda: torch.empty(3).normal_(0, -1)),
        (lambda e: rng.uniform(e, (3,), 0, 1e9, "float16"), lambda: empty(3, "float16").uniform_(0, 1e9)),
        (lambda e: rng.uniform(e, (3,), -1e39, 1), lambda: torch.empty(3).uniform_(-1e39, 1)),
        (lambda e: rng.uniform(e, (3,), -3e38, 3e38), lambda: torch.empty(3).uniform_(-3e38, 3e38)),
        (lambda e: rng.uniform(e, (3,), dtype="int64"), lambda: empty(3, "int64").uniform_()),
        (lambda e: rng.normal(e, (3,), dtype="int32"), lambda: empty(3, "int32").normal_()),
        (lambda e: rng.exponential(e, (3,), dtype="int64"), lambda: empty(3, "int64").exponential_()),
        (lambda e: rng.log_normal(e, (3,), dtype="uint8"), lambda: empty(3, "uint8").log_normal_()),
        (lambda e: rng.geometric(e, (3,), 0.3, "bool"), lambda: empty(3, "bool").geometric_(0.3)),
        (lambda e: rng.bernoulli(e, (3,), 0.3, "uint16"), lambda: empty(3, "uint16").bernoulli_(0.3)),
        (lambda e: rng.random_all(e, (3,), "uint32"), lambda: empty(3, "uint32").random_()),
        (lambda e: rng.random_between(e, (3,), 0, 9, "complex64"), lambda: empty(3, "complex64").random_(0, 9)),
        (
            lambda e: rng.standard_gamma(e, np.ones(3, np.float16)),
            lambda: torch._standard_gamma(torch.ones(3, dtype=torch.float16)),
        ),
        (
            lambda e: rng.dirichlet(e, np.ones(3, np.float16)),
            lambda: torch._sample_dirichlet(torch.ones(3, dtype=torch.float16)),
        ),
        (
            lambda e: rng.binomial(e, np.ones(3, np.float16), np.ones(3, np.float16)),
            lambda: torch.binomial(torch.ones(3, dtype=torch.float16), torch.ones(3, dtype=torch.float16)),
        ),
        (
            lambda e: rng.multinomial(e, np.ones(3), 2, dtype="int64"),
            lambda: torch.multinomial(torch.ones(3, dtype=torch.int64), 2),
        ),
        (lambda e: rng.exponential(e, (3,), -1), lambda: torch.empty(3).exponential_(-1)),
        (lambda e: rng.geometric(e, (3,), 1), lambda: torch.empty(3).geometric_(1)),
        (lambda e: rng.cauchy(e, (3,), 0, 0), lambda: torch.empty(3).cauchy_(0, 0)),
        (lambda e: rng.log_normal(e, (3,), 0, 0), lambda: torch.empty(3).log_normal_(0, 0)),
        (lambda e: rng.bernoulli(e, (3,), 1.5), lambda: torch.empty(3).bernoulli_(1.5)),
        (lambda e: rng.random_between(e, (3,), 5, 5), lambda: torch.randint(5, 5, (3,))),
        (lambda e: rng.random_between(e, (3,), 0, 300, "uint8"), lambda: empty(3, "uint8").random_(0, 300)),
        (lambda e: rng.random_between(e, (3,), -1, 3, "uint8"), lambda: empty(3, "uint8").random_(-1, 3)),
        (lambda e: rng.random_between(e, (3,), 0, 300, "int8"), lambda: empty(3, "int8").random_(0, 300)),
        (lambda e: rng.random_between(e, (3,), 0, 2**40, "int16"), lambda: empty(3, "int16").random_(0, 2**40)),
        (lambda e: rng.random_between(e, (3,), 0, 2**40, "int32"), lambda: empty(3, "int32").random_(0, 2**40)),
        (lambda e: rng.random_between(e, (3,), 0, 3, "bool"), lambda: empty(3, "bool").random_(0, 3)),
        (lambda e: rng.random_between(e, (3,), 0, 10**6, "float16"), lambda: empty(3, "float16").random_(0, 10**6)),
        (lambda e: rng.multinomial(e, np.zeros(3), 1), lambda: torch.multinomial(torch.zeros(3), 1)),
        (lambda e: rng.multinomial(e, np.ones(3), 4), lambda: torch.multinomial(torch.ones(3), 4)),
        (lambda e: rng.multinomial(e, np.ones(3), 0), lambda: torch.multinomial(torch.ones(3), 0)),
        (lambda e: rng.multinomial(e, -np.ones(3), 2), lambda: torch.multinomial(-torch.ones(3), 2)),
        (lambda e: rng.multinomial(e, -np.ones(3), 2, True), lambda: torch.multinomial(-torch.ones(3), 2, True)),
        (lambda e: rng.multinomial(e, np.zeros(3), 2, True), lambda: torch.multinomial(torch.zeros(3), 2, True)),
        (
            lambda e: rng.multinomial(e, np.array([np.inf, 1]), 2, True),
            lambda: torch.multinomial(torch.tensor([math.inf, 1]), 2, True),
        ),
        (lambda e: rng.poisson(e, -np.ones(3)), lambda: torch.poisson(-torch.ones(3))),
        (lambda e: rng.bernoulli_each(e, np.full(3, 2.0)), lambda: torch.bernoulli(torch.full((3,), 2.0))),
        (lambda e: rng.normal_around(e, 0.0, -np.ones(3), "float64"), lambda: torch.normal(0.0, -torch.ones(3))),
    ],
)
def test_errors(ours: Callable[[rng.Engine], object], theirs: Callable[[], object]) -> None:
    engine = rng.Engine(1)
    before = engine.get_state()
    with pytest.raises(RuntimeError) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as raised:
        ours(engine)
    assert str(expected.value).startswith(str(raised.value))
    assert engine.get_state() == before
