"""softmax and log_softmax of short and long arrays, forward and backward, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Both = Callable[..., Any]

SHAPES = [(1,), (7,), (1, 1), (3, 1), (1, 5), (4, 9), (2, 3, 5), (16, 16), (31, 66), (32, 64), (32, 65), (2, 4, 300)]
SIZES = [1e-3, 1.0, 30.0, 299.0, 301.0, 5000.0]
ODD = [np.nan, np.inf, -np.inf]


def _rows(shape: tuple[int, ...], size: float, odd: float | None) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(len(shape))
    array = (rng.uniform(-1, 1, shape) * size).astype(np.float32)
    if odd is not None and array.size:
        array.reshape(-1)[array.size // 2] = odd
    return array


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients(both: Both, shape: tuple[int, ...], name: str) -> None:
    cases = [(size, None) for size in SIZES] + [(1.0, odd) for odd in ODD]

    def run(torch: Any) -> list[Any]:
        found = []
        for size, odd in cases:
            for dim in range(len(shape)):
                x = torch.tensor(_rows(shape, size, odd), requires_grad=True)
                y = getattr(torch, name)(x, dim)
                y.backward(torch.tensor(_rows(shape, 1.0, None)))
                found += [y, x.grad]
        return found

    both(run, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_orders_of_memory(both: Both, name: str) -> None:
    def run(torch: Any) -> list[Any]:
        x = torch.tensor(_rows((4, 6), 2.0, None))
        views = [x.t(), x[:, ::2], x[1:], x.view(2, 2, 6).transpose(0, 2), x[0].expand(3, 6), x.view(24)[3:15:2]]
        return [(y := getattr(torch, name)(view, -1), y.stride()) for view in views]

    both(run, rtol=2e-5, atol=2e-6)


def test_a_row_sums_to_one(both: Both) -> None:
    both(lambda torch: torch.softmax(torch.tensor([[200.0, -200.0, 199.0], [-290.0, -290.0, -290.0]]), 1).sum(1), rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0,)])
def test_nothing(both: Both, shape: tuple[int, ...]) -> None:
    both(lambda torch: [torch.softmax(torch.zeros(shape), -1), torch.log_softmax(torch.zeros(shape), 0)])
