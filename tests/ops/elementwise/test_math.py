"""Exponentials, logarithms, trigonometry, rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.ops.elementwise.samples import EDGES, PAIRS, layouts, operand, tolerance

UNARY = tuple(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinc sigmoid "
    "logit "
    "deg2rad rad2deg angle".split()
)
STEPS = ("floor", "ceil", "trunc", "round", "frac")
PAIRWISE = ("atan2", "hypot", "copysign", "logaddexp", "logaddexp2", "xlogy", "nextafter")
WIDE = np.concatenate([np.linspace(-88, 88, 4001), np.linspace(-1, 1, 4001), np.logspace(-12, 30, 500)])


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_accuracy(both, op, dtype):
    """Results are accurate within a few units in the last place over the whole range, also at NaN and infinities."""
    bounds = {"float32": {"rtol": 1e-6, "atol": 1e-7}, "float64": {"rtol": 1e-13, "atol": 1e-15}}.get(
        dtype, tolerance(dtype)
    )
    both(
        lambda torch: getattr(torch, op)(torch.tensor(np.concatenate([WIDE, EDGES])).to(getattr(torch, dtype))),
        **bounds,
    )


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
def test_integers_become_floats(both, op, dtype):
    both(lambda torch: getattr(torch, op)(operand(torch, dtype)), rtol=2e-6)


@pytest.mark.parametrize("op", [op for op in UNARY if op not in ("deg2rad", "rad2deg", "logit")])
def test_complex_numbers(both, with_gradients, op):
    values = np.array([0.3 + 0.4j, -0.5 + 1.2j, 1.1 - 0.7j, 0.2 - 2j], np.complex128)
    both(lambda torch: getattr(torch, op)(torch.tensor(values)), rtol=1e-12)
    with_gradients(lambda torch, x: getattr(torch, op)(x), values, rtol=1e-9)


@pytest.mark.parametrize("op", (*UNARY, *STEPS))
def test_layouts(both, op):
    both(lambda torch: [getattr(torch, op)(x) for x in layouts(torch)], rtol=2e-6)


@pytest.mark.parametrize("op", (*UNARY, *STEPS))
def test_gradients(with_gradients, op):
    with_gradients(lambda torch, x: getattr(torch, op)(x), np.array([0.3, -0.7, 0.9, 1e-4, 0.0]), rtol=1e-9)
    with_gradients(lambda torch, x: getattr(torch, op)(x.t()), np.array([[0.3, 0.7, 2.5], [1.5, 0.2, 4.0]], np.float32))


@pytest.mark.parametrize(
    "op", ["exp", "log", "tanh", "sigmoid", "sin", "expm1", "log1p", "acosh", "sinc", "exp2", "log2"]
)
def test_second_derivatives(both, op):
    def body(torch):
        x = torch.tensor([1.2, 2.5, 3.1], dtype=torch.float64, requires_grad=True)
        (first,) = torch.autograd.grad(getattr(torch, op)(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), x)
        return first, second

    both(body, rtol=1e-9)


@pytest.mark.parametrize("op", PAIRWISE)
def test_pairs(both, op):
    both(lambda torch: getattr(torch, op)(torch.tensor(PAIRS[0]), torch.tensor(PAIRS[1])), rtol=2e-6)
    both(lambda torch: [getattr(torch, op)(x, y) for x, y in zip(layouts(torch), layouts(torch, shift=3))], rtol=2e-6)


@pytest.mark.parametrize("op", PAIRWISE)
def test_gradients_of_pairs(with_gradients, op):
    with_gradients(
        lambda torch, x, y: getattr(torch, op)(x, y),
        np.array([[0.5], [2.0], [1.5]]),
        np.array([0.7, 3.0, 2.0, 1.25]),
        rtol=1e-9,
    )


@pytest.mark.parametrize("op", STEPS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_rounding(both, op, dtype):
    values = [*EDGES, 2.5, 3.5, -1.5, 1e6, -0.2]
    both(lambda torch: getattr(torch, op)(torch.tensor(values).to(getattr(torch, dtype))), **tolerance(dtype))


@pytest.mark.parametrize("op", ["floor", "ceil", "trunc", "round"])
def test_rounding_of_integers(both, op):
    both(lambda torch: getattr(torch, op)(torch.tensor([-3, 5])))
    both(lambda torch: getattr(torch, f"{op}_")(torch.tensor([1.5, -2.5])))


@pytest.mark.parametrize("decimals", [0, 1, 3, -2])
def test_round_to_decimals(both, decimals):
    both(lambda torch: torch.round(torch.tensor([1234.5678, -0.0555, 2.5]), decimals=decimals))


def test_heaviside_of_the_largest_integers(both):
    def body(torch):
        whole, small = torch.tensor([0, 2**63 - 1, -(2**63), 0]), torch.tensor([0, -128, 127], dtype=torch.int8)
        return [
            torch.heaviside(whole, torch.tensor([2**63 - 1, 5, 5, -(2**63)])), torch.heaviside(small, small + 3),
            torch.heaviside(small.to(torch.uint8), torch.tensor(255, dtype=torch.uint8)),
            torch.heaviside(torch.tensor([True, False]), torch.tensor([False, True])),
        ]  # fmt: skip

    both(body)


def test_heaviside_ldexp_frexp(both):
    def body(torch):
        x = torch.tensor([-1.5, 0.0, 2.0, float("nan")])
        mantissa, exponent = torch.frexp(torch.tensor([1.0, -3.5, 0.0, 1e-30, float("inf")]))
        return [
            torch.heaviside(x, torch.tensor(0.5)),
            torch.heaviside(torch.tensor([-1, 0, 2]), torch.tensor(7)),
            torch.ldexp(x, torch.tensor([1, 2, -3, 0])),
            mantissa,
            torch.frexp(x).mantissa,
            torch.ldexp(torch.tensor([1]), torch.tensor([2])),
        ]

    both(body)
    both(lambda torch: torch.frexp(torch.tensor([1.0, -3.5, 0.0, 1e-30])).exponent)
    both(lambda torch: repr(torch.frexp(torch.tensor([1.0]))))


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
def test_ldexp_moves_exponents(both, kind):
    """A power of two may be too large for the dtype; of 64-bit exponents the lower 32 bits count."""

    def body(torch):
        x = torch.tensor(
            [1e-38, 1e38, 1.0, 1.0, float("inf"), 0.0, float("nan"), 3.0, 1e-30, 0.0], dtype=torch.float64
        ).to(getattr(torch, kind))
        powers = torch.tensor([128, 127, -126, -149, -150, 1023, 1024, -1074, 2000, 3])
        longer = torch.tensor([2**33, -(2**33), 2**32 + 1] * 3 + [0])
        return [
            torch.ldexp(x, other)
            for other in (
                powers,
                powers.int(),
                powers.clamp(-100, 100).to(torch.int8),
                longer,
                powers[3],
                powers[:, None],
            )
        ]

    both(body)
    both(lambda torch: torch.ldexp(torch.ones(2, dtype=getattr(torch, kind)), torch.ones(2, dtype=torch.bool)))


def test_ldexp_is_one_node(both):
    def body(torch, first, second):
        x = torch.tensor([1.0, 2, 3], dtype=getattr(torch, first), requires_grad=True)
        y = torch.tensor([[2.0, 0, 1]], dtype=getattr(torch, second), requires_grad=True)
        result = torch.ldexp(x, y)
        once = torch.autograd.grad(result.pow(2).sum(), (x, y), create_graph=True)
        twice = torch.autograd.grad(once[1].sum(), x)
        return result, once, twice, type(result.grad_fn).__name__

    for kinds in (("float64", "float64"), ("float32", "float32"), ("float32", "float64"), ("float64", "float32")):
        both(lambda torch, kinds=kinds: body(torch, *kinds))

    def written(torch):
        result = torch.ldexp(torch.ones(3, requires_grad=True), torch.tensor([1, 2, 3]))
        after = result * 1
        result.mul_(2)
        try:
            after.sum().backward()
            return "not refused"
        except RuntimeError as error:
            return str(error)[:90]

    both(written)
    both(
        lambda torch: torch.func.jvp(
            torch.ldexp, (torch.ones(3), torch.full((3,), 0.5)), (torch.ones(3), torch.full((3,), 2.0))
        )[1]
    )


def test_logit_with_eps(with_gradients):
    with_gradients(lambda torch, x: torch.logit(x, eps=0.1), np.array([0.05, 0.1, 0.5, 0.97]))


def test_in_place_out_and_aliases(both):
    def body(torch):
        x = torch.tensor([[0.5, 0.25], [0.75, 0.1]])
        y = x.clone()
        y[0].exp_()
        torch.sin_(y)
        out = torch.empty(2, 2)
        return [
            y,
            torch.cos(x, out=out),
            out,
            torch.arcsin(x),
            torch.arctan2(x, y),
            torch.arccosh(x + 1),
            x.arctanh(),
            torch.fix(x * 5),
        ]

    both(body)


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.tensor([1]).exp_(),
        lambda torch: torch.heaviside(torch.ones(1), torch.ones(1).double()),
        lambda torch: torch.frexp(torch.tensor([1])),
        lambda torch: torch.sin(1.0),
        lambda torch: torch.atan2(torch.ones(2), torch.ones(3)),
    ],
)
def test_errors(both, body):
    both(body, message="")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_small_and_large_complex_numbers_of_log1p(both, dtype):
    large = 1e30 if dtype == "complex64" else 1e250
    parts = [0.0, 1e-19, -1e-18, 0.1, -0.3, 0.5, 2.0, -1.0, -2.0, large, 1 / large, math.inf, math.nan]
    numbers = [complex(a, b) for a in parts for b in parts[: -2 if math.isfinite(a) else None]]  # torch has NaN for 0.1 + inf j
    rtol = 1e-6 if dtype == "complex64" else 1e-14

    def body(torch):
        found = torch.log1p(torch.tensor(numbers, dtype=getattr(torch, dtype)))
        return found.real, found.imag

    both(body, rtol=rtol, atol=0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logaddexp_of_complex_numbers_that_are_not_finite(both, dtype):
    parts = [0.0, 1.0, -2.0, math.inf, -math.inf, math.nan]
    numbers = [complex(a, b) for a in parts for b in parts]

    def body(torch):
        x = torch.tensor(numbers, dtype=getattr(torch, dtype))
        found = torch.logaddexp(x[:, None], x)
        return found.real, found.imag

    both(body)
