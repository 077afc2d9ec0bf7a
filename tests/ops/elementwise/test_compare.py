"""Comparisons, logic, selection, clamps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.elementwise.samples import EDGES, FLOATING, INTEGERS, PAIRS, layouts, operand

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
REAL = ("bool", *INTEGERS, *FLOATING)
NAN = float("nan")


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("dtype", REAL)
def test_comparisons(both, op, dtype):
    def body(torch):
        function = getattr(torch, op)
        x = operand(torch, dtype)
        return [
            function(x, operand(torch, dtype, 1)),
            function(x, 1),
            function(x, 0.5),
            function(x, torch.tensor(2.5)),
            *(function(x, y) for x, y in zip(layouts(torch, dtype), layouts(torch, dtype, 1))),
        ]

    both(body)


def test_operators(both):
    def body(torch):
        x = torch.tensor([1.0, NAN, 3.0])
        return [x == 1, x != x, x < 2, x <= 1, x > 2, x >= 3, 2 < x, 2 == x, x == None, x != "a", x == [1]]  # noqa: E711

    both(body)


def test_comparison_aliases_and_in_place(both):
    def body(torch):
        x = torch.tensor([1.0, 2.0, 3.0])
        return [
            torch.less(x, 2),
            torch.less_equal(x, 2),
            torch.greater(x, 2),
            torch.greater_equal(x, 2),
            torch.not_equal(x, 2),
            x.clone().lt_(2),
            x.clone().eq_(x),
            torch.eq(x, 2, out=torch.empty(3)),
            x.logical_not_(),
        ]

    both(body)


@pytest.mark.parametrize("dtype", (*REAL, "complex64"))
def test_logic(both, dtype):
    def body(torch):
        x, y = operand(torch, dtype), operand(torch, "float32", 2)
        return [
            torch.logical_and(x, y),
            torch.logical_or(x, y),
            torch.logical_xor(x, y),
            torch.logical_not(x),
            x.logical_and(x[:1]),
        ]

    both(body)


@pytest.mark.parametrize("op", ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "isreal"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "bool"])
def test_classification(both, op, dtype):
    # The sign of a NaN from a conversion depends on the processor.
    edges = EDGES if dtype == "float32" or op != "signbit" else [value for value in EDGES if value == value]
    both(
        lambda torch: getattr(torch, op)(
            torch.tensor(edges).to(getattr(torch, dtype)) if "float" in dtype else operand(torch, dtype)
        )
    )
    both(lambda torch: [getattr(torch, op)(x) for x in layouts(torch, dtype)])


def test_classification_of_complex_numbers(both):
    values = [1 + 2j, complex(NAN, 1), complex(1, float("inf")), 3 + 0j]
    both(lambda torch: [getattr(torch, op)(torch.tensor(values)) for op in ("isnan", "isinf", "isfinite", "isreal")])


@pytest.mark.parametrize("op", ["maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("dtype", REAL)
def test_extrema(both, op, dtype):
    both(lambda torch: [getattr(torch, op)(x, y) for x, y in zip(layouts(torch, dtype), layouts(torch, dtype, 1))])


@pytest.mark.parametrize("op", ["maximum", "minimum", "fmax", "fmin"])
def test_gradients_of_extrema(with_gradients, op):
    with_gradients(lambda torch, x, y: getattr(torch, op)(x, y), PAIRS[0].copy(), PAIRS[1].copy())
    with_gradients(lambda torch, x, y: getattr(torch, op)(x, y), np.ones((2, 3)), np.ones(3))


def test_clamp(both):
    def body(torch):
        x = torch.tensor(EDGES)
        i = torch.tensor([-5, 0, 5, 9])
        return [
            x.clamp(-1, 1),
            x.clamp(min=0),
            x.clamp(max=0.5),
            x.clamp(2, 1),
            torch.clip(x, -1, 1),
            x.clamp_min(0),
            x.clamp_max(0),
            i.clamp(0, 6),
            i.clamp(0.5),
            i.clamp(max=torch.tensor(3)),
            x.clamp(torch.zeros(15), torch.ones(1)),
            x.clamp(NAN, 1),
            x[:0].clamp(0),
            x.half().clamp(0, 1),
            x.to(torch.bfloat16).clamp(0, 1),
            x.clone().clamp_(0, 1),
            torch.clamp(x, 0, 1, out=torch.empty(15)),
        ]

    both(body)


def test_clamp_passes_the_gradient_at_its_bounds(with_gradients):
    with_gradients(lambda torch, x: x.clamp(-1, 1), np.array([-2.0, -1.0, 0.0, 1.0, 2.0, NAN]))
    with_gradients(
        lambda torch, x, low, high: x.clamp(low, high),
        np.array([-2.0, -1.0, 0.0, 1.0, 2.0]),
        np.full(5, -1.0),
        np.array([1.0, 1.0, -3.0, 1.0, 1.0]),
    )


@pytest.mark.parametrize("dtype", (*REAL, "complex64"))
def test_where(both, dtype):
    def body(torch):
        x, y = operand(torch, dtype), operand(torch, dtype, 1)
        chosen = operand(torch, "bool")
        return [
            torch.where(chosen, x, y),
            torch.where(chosen[:1], x, y[:, :1]),
            torch.where(chosen, x, 1),
            torch.where(chosen, 0, y),
            x.where(chosen, y),
            torch.where(chosen.t(), x.t(), y.t()),
            torch.where(chosen[:0], x[:0], 1),
        ]

    both(body)


def test_where_of_numbers_and_alone(both):
    def body(torch):
        chosen = torch.tensor([[True, False], [False, True]])
        return [
            torch.where(chosen, 1, 0),
            torch.where(chosen, 1.5, 0.0),
            torch.where(chosen),
            torch.where(torch.tensor(True)),
            torch.where(torch.tensor([0.0, 2.0])),
        ]

    both(body)


def test_where_keeps_nan_out_of_the_gradient(with_gradients):
    values = np.array([0.0, 1.0, -1.0, NAN])
    with_gradients(lambda torch, x: torch.where(x > 0, x * 2, torch.zeros_like(x)), values)
    with_gradients(lambda torch, x, y: torch.where(x == 0, x, y), values, np.ones((2, 1)))


def test_closeness(both):
    def body(torch):
        x, y = torch.tensor([1.0, 1e-9, NAN, float("inf")]), torch.tensor([1.00001, 0.0, NAN, float("inf")])
        return [
            torch.isclose(x, y),
            torch.isclose(x, y, equal_nan=True),
            torch.isclose(x, y, 0.0, 0.0),
            torch.allclose(x, y),
            torch.allclose(x[:2], y[:2], atol=1e-4),
            torch.equal(x, x),
            torch.equal(x[:2], x[:2].clone()),
            torch.equal(x, x[:2]),
            torch.isclose(torch.tensor([1, 2]), torch.tensor([1, 3])),
            torch.is_nonzero(torch.tensor(2.0)),
        ]

    both(body)


def test_nan_to_num(both, with_gradients):
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        both(lambda torch, dtype=dtype: torch.tensor(EDGES).to(getattr(torch, dtype)).nan_to_num())
    both(lambda torch: torch.nan_to_num(torch.tensor(EDGES), nan=1.0, posinf=2.0, neginf=-3.0))
    with_gradients(lambda torch, x: x.nan_to_num(), np.array([1.0, NAN, float("inf")]))


def test_result_type(both):
    both(
        lambda torch: [
            torch.result_type(torch.ones(2), 1),
            torch.result_type(torch.ones(2, dtype=torch.int32), 1.5),
            torch.can_cast(torch.float32, torch.int64),
            torch.promote_types(torch.uint8, torch.int8),
        ]
    )


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.ones(2).clamp(),
        lambda torch: torch.where(torch.ones(2), 1, 2),
        lambda torch: torch.isclose(torch.ones(1), torch.ones(1).double()),
        lambda torch: torch.is_nonzero(torch.ones(2)),
        lambda torch: torch.isclose(torch.ones(1), torch.ones(1), rtol=-1.0),
        lambda torch: torch.ones(2) < torch.ones(3),
        lambda torch: torch.isposinf(torch.tensor([1j])),
    ],
)
def test_errors(both, body):
    both(body)


def test_questions_about_the_dtype(both):
    def body(torch):
        x, z = torch.ones(2), torch.tensor([1j])
        return [
            torch.is_complex(z),
            torch.is_floating_point(x),
            torch.is_signed(x),
            torch.is_conj(z),
            torch.is_neg(x),
            x.is_same_size(z),
        ]

    both(body)


def test_isclose_of_small_integers(both: Any) -> None:
    def body(torch: Any) -> Any:
        kinds = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int64)
        pairs = [[torch.tensor(v).to(kind) for v in ([1, 0], [1, 1])] for kind in kinds]
        return [torch.isclose(*pair, rtol=0.5, atol=0.5) for one in pairs for pair in (one, one[::-1])]

    both(body)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("value", [1e39, -1e39, 65520.0, float("inf"), float("nan")])
def test_fillers_beyond_the_dtype(both, kind, value):
    def body(torch):
        x = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]).to(getattr(torch, kind))
        return x.nan_to_num(value), x.nan_to_num(0, value), x.nan_to_num(0, 0, value)

    both(body)


@pytest.mark.parametrize("name", ["clamp", "clip", "clamp_", "clamp_min", "clamp_max"])
@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("bounds", ["numbers", "low", "high", "tensors", "low tensor", "high tensor", "integers"])
def test_bounds_of_truth_values(both, bounds, size, name):
    """Python numbers are refused, and so are tensors for both bounds; one tensor is accepted."""

    def body(torch):
        x = torch.zeros(size, 2, dtype=torch.bool)
        given = {
            "numbers": (False, True), "low": (False,), "high": (None, True), "tensors": (x, x), "low tensor": (x,), "high tensor": (None, x),
            "integers": (0, 1),
        }[bounds]  # fmt: skip
        if name in ("clamp_min", "clamp_max") and len(given) > 1:
            return None
        if (name, bounds) == ("clamp_", "integers"):
            return None  # refused with a different message
        return getattr(x, name)(*given)

    both(body)
