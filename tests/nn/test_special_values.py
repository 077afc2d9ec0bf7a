"""NaN and infinities in layers without weights: the result is NaN or infinite at the same places as in torch."""
from __future__ import annotations

import numpy as np
import pytest

NAN, INF = float("nan"), float("inf")

pytestmark = pytest.mark.filterwarnings("ignore:Default grid_sample")


def spoilt(shape, *values, seed=0):
    """Return random numbers, some of them replaced by the values."""
    chance = np.random.RandomState(seed)
    found = chance.uniform(-2, 2, shape).astype(np.float32)
    places = chance.choice(found.size, min(len(values), found.size), replace=False)
    found.reshape(-1)[places] = values[: len(places)]
    return found


def slopes(torch, y, *leaves, gradient=None):
    y.backward(torch.ones_like(y) if gradient is None else torch.tensor(gradient))
    return y, *(leaf.grad for leaf in leaves)


MODES = [
    ("linear", False, (5,), (3,)), ("linear", True, (5,), (8,)), ("linear", True, (4,), (4,)), ("bilinear", False, (4, 5), (8, 7)),
    ("bilinear", True, (5, 4), (3, 4)), ("bicubic", False, (5, 6), (7, 9)), ("bicubic", True, (6, 5), (3, 8)),
    ("trilinear", False, (3, 4, 3), (5, 2, 3)), ("trilinear", True, (3, 4, 3), (5, 2, 6)),
]  # fmt: skip


@pytest.mark.parametrize("where", ["input", "gradient"])
@pytest.mark.parametrize(("mode", "corners", "sizes", "out"), MODES)
def test_interpolate(both, mode, corners, sizes, out, where):
    def body(torch):
        x = torch.tensor(spoilt((2, 2, *sizes), *((NAN, INF, -INF) if where == "input" else ())), requires_grad=True)
        y = torch.nn.functional.interpolate(x, out, mode=mode, align_corners=corners)
        return slopes(torch, y, x, gradient=spoilt((2, 2, *out), *((NAN, INF) if where == "gradient" else ())))

    both(body, strides=False)


@pytest.mark.parametrize("size", [(5, 9), (9, 5), (3, 3), (5, 5)])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolate_against_aliasing(both, mode, size):
    both(
        lambda torch: torch.nn.functional.interpolate(torch.tensor(spoilt((1, 2, 5, 5), NAN, INF)), size, mode=mode, antialias=True),
        strides=False,
    )


@pytest.mark.parametrize("factor", [1.1, 2.1])
@pytest.mark.parametrize(("mode", "rank", "dtype"), [
    ("linear", 1, "float32"), ("trilinear", 3, "float32"),  # torch has no bytes there
    *((mode, rank, dtype) for dtype in ("float32", "uint8") for mode, rank in (
        ("nearest", 1), ("nearest", 2), ("nearest", 3), ("nearest-exact", 2), ("bilinear", 2), ("bicubic", 2),
    )),
])  # fmt: skip
def test_factors_that_leave_the_size(both, mode, rank, dtype, factor):
    image = (spoilt((1, 1) + (5,) * rank) + 2) * 60

    def body(torch):
        return torch.nn.functional.interpolate(torch.tensor(image).to(getattr(torch, dtype)), scale_factor=factor, mode=mode)

    both(body, rtol=1e-4, atol=1e-3, strides=False)


def test_lanczos_has_no_corners(both):
    def body(torch):
        with pytest.raises(ValueError) as caught:
            torch.nn.functional.interpolate(torch.ones(1, 1, 3, 3), (4, 4), mode="lanczos", antialias=True, align_corners=True)
        return str(caught.value)

    both(body)


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
def test_bags(both, mode, padding):
    table = [[1.0, NAN], [NAN, INF], [0.5, -1.0], [2.0, 3.0], [-INF, 3.0]]

    def body(torch):
        weight = torch.tensor(table, requires_grad=True)
        factors = torch.tensor([1.0, -2.0, 0.0, 3.0, 0.5, 1.0, 2.0], requires_grad=True)
        y = torch.nn.functional.embedding_bag(
            torch.tensor([0, 1, 2, 3, 3, 2, 4]), weight, torch.tensor([0, 1, 2, 5]), mode="sum" if mode == "weighted" else mode,
            padding_idx=padding, per_sample_weights=factors if mode == "weighted" else None,
        )  # fmt: skip
        return slopes(torch, y, *((weight, factors) if mode == "weighted" else (weight,)))

    both(body)


@pytest.mark.parametrize("rows", [[3.0, NAN, 1.0], [NAN, 3.0, 1.0], [-INF, NAN, NAN], [2.0, 2.0, 1.0]])
def test_the_largest_of_a_bag_is_the_first_that_nothing_exceeds(both, rows):
    def body(torch):
        weight = torch.tensor(rows).unsqueeze(1).requires_grad_()
        return slopes(torch, torch.nn.functional.embedding_bag(torch.tensor([[0, 1, 2]]), weight, mode="max"), weight)

    both(body)


@pytest.mark.parametrize("padding", [None, 0])
@pytest.mark.parametrize("indices", [[1, 1, 1, 0, 0], [3, 4, 2, 1, 4, 0, 0], [4, 2, 0, 0, 0, 0]])
def test_gradients_of_bags_by_frequency(both, indices, padding):
    def body(torch):
        weight = torch.arange(10.0).reshape(5, 2).requires_grad_()
        bags = torch.tensor([0, 2])
        y = torch.nn.functional.embedding_bag(torch.tensor(indices), weight, bags, mode="sum", scale_grad_by_freq=True, padding_idx=padding)
        return slopes(torch, y, weight)

    both(body)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("rank", "mode"), [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")])
def test_grid_sample(both, rank, mode, padding):
    def body(torch):
        x = torch.tensor(spoilt((1, 2) + (4,) * rank, NAN, NAN), requires_grad=True)
        grid = torch.tensor(spoilt((1,) + (4,) * rank + (rank,), seed=1), requires_grad=True)
        return slopes(torch, torch.nn.functional.grid_sample(x, grid, mode, padding, align_corners=False), x, grid)

    both(body, rtol=1e-4, atol=1e-4, strides=False)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("value", [NAN, INF])
def test_grids_that_are_no_numbers(both, rank, value):
    def body(torch):
        x = torch.tensor(spoilt((1, 2) + (4,) * rank), requires_grad=True)
        grid = torch.tensor(spoilt((1,) + (3,) * rank + (rank,), value, value, seed=1) / 2, requires_grad=True)
        return slopes(torch, torch.nn.functional.grid_sample(x, grid, align_corners=False), x, grid)

    both(body, rtol=1e-4, atol=1e-4, strides=False)


@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("rank", [2, 3])
def test_grids_at_the_border(both, rank, padding):
    def body(torch):
        x = torch.arange(float(2 * 4**rank)).reshape(1, 2, *(4,) * rank) ** 1.5
        grid = torch.arange(-2.0, 2.5, 0.25).reshape(1, -1, *(1,) * rank).repeat(1, 1, *(1,) * (rank - 1), rank).requires_grad_()
        return slopes(torch, torch.nn.functional.grid_sample(x, grid, padding_mode=padding, align_corners=True), grid)

    both(body, rtol=1e-4, strides=False)


@pytest.mark.parametrize("power", [2, 3.0])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_powers_of_zeros(both, rank, power):
    def body(torch):
        x = torch.tensor(spoilt((1, 1) + (4,) * rank, NAN))
        x[..., :2] = 0
        x.requires_grad_()
        return slopes(torch, getattr(torch.nn.functional, f"lp_pool{rank}d")(x, power, 2), x)

    both(body, strides=False)


def test_logsumexp_beside_infinity(both):
    def body(torch):
        x = torch.tensor([[1000.0, INF, 2000.0, -3.0], [-INF] * 4, [1000.0, -INF, 999.0, NAN], [1.0, -INF, 2.0, 3.0]], requires_grad=True)
        return slopes(torch, torch.logsumexp(x, 1), x)

    both(body)


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_gradients_from_results_of_softmax(both, name):
    y, g = [[INF, 0.1, 0.2, 0.3], [0.5, 0.2, 0.1, 0.1]], [[1.0, 2.0, 3.0, 4.0], [-1.0, 2.0, INF, 4.0]]
    both(lambda torch: [getattr(torch, name)(torch.tensor(g), torch.tensor(y), dim, torch.float32) for dim in (0, 1)])


def test_gradients_of_softmax_are_rounded_once(both):
    def body(torch):
        x = torch.tensor(spoilt((3, 40)) * 3).bfloat16().requires_grad_()
        torch.softmax(x, 1).backward(torch.tensor(spoilt((3, 40), seed=1)).bfloat16())
        return x.grad

    both(body, rtol=0.01, atol=1e-4)


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 2, 3, 4)])
def test_rows_that_are_masked_and_no_numbers(both, shape, kind):
    def body(torch):
        q, k, v = (torch.tensor(spoilt(shape, seed=seed)) for seed in range(3))
        q[..., 0, 0], k[..., 2, 1] = NAN, 1.0
        mask = torch.tensor([[False, False, False], [True, False, False], [True, True, True]])
        if kind == "float":
            mask = torch.zeros(3, 3).masked_fill(~mask, -INF)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    both(body, strides=False)


def test_a_hidden_key_that_is_no_number(both):
    def body(torch):
        q, k, v = (torch.tensor(spoilt((2, 3, 4), seed=seed)) for seed in range(3))
        k[:, 2] = NAN
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, torch.tensor([[True, True, False]] * 3))

    both(body, strides=False)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_causal_attention_ignores_later_nan(both, value):
    def body(torch):
        q, k, v = (torch.tensor(np.abs(spoilt((1, 2, 4, 4), seed=seed))) for seed in range(3))
        k[:, 0, 2:], k[:, 1, 0] = value, -INF
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    both(body, strides=False)


@pytest.mark.parametrize("bounds", [(-5.0, 1.0), (-1.0, -0.5), (0.1, 0.3), (-1.0, 1.0)])
@pytest.mark.parametrize("training", [False, True])
def test_rrelu_in_place_with_negative_slopes(both, bounds, training):
    def body(torch):
        x = torch.tensor([-1.0, 1.0, -2.0, 0.0], requires_grad=True)
        y = torch.nn.functional.rrelu_(x.clone(), *bounds, training)
        y.backward(torch.ones(4))
        return y, x.grad

    both(body, message=None if bounds[0] > 0 else "call out-of-place version instead")
