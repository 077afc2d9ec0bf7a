"""Sizes that pooling and transposed convolutions refuse, compared with torch."""
from __future__ import annotations

import itertools

import pytest


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "padding", "dilation"), [(3, (2, 0), 2), (3, (1, 2), 3), ((4, 3), 2, 1), (3, 2, 1), (2, 1, 2), (3, 1, 1), ((3, 5), (1, 2), 1)])
def test_paddings_of_max_pool(both, rank, kernel, padding, dilation):
    first = lambda given: given if isinstance(given, int) or rank == 2 else given[0]

    def body(torch):
        return getattr(torch.nn.functional, f"max_pool{rank}d")(torch.zeros(1, 1, *(9,) * rank), first(kernel), 1, first(padding), dilation)

    both(body)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("name", ["avg_pool", "lp_pool"])
@pytest.mark.parametrize(("size", "kernel", "padding"), [(3, 4, 1), (3, 5, 2), (3, 6, 2), (4, 4, 0), (3, 4, 0), (2, 4, 2)])
def test_windows_larger_than_the_input(both, rank, name, size, kernel, padding):
    def body(torch):
        x = torch.zeros(1, 1, *(size,) * rank)
        function = getattr(torch.nn.functional, f"{name}{rank}d")
        return function(x, kernel, 1, padding) if name == "avg_pool" else function(x, 2.0, kernel, 1)

    both(body)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("size", "kernel", "padding"), [(3, 2, 2), (3, 1, 2), (2, 1, 1), (1, 1, 1), (1, 2, 1), (3, 2, 1)])
def test_transposed_convolutions_without_a_result(both, rank, size, kernel, padding):
    def body(torch):
        function = getattr(torch.nn.functional, f"conv_transpose{rank}d")
        weight = torch.zeros(1, 1, *(kernel,) * rank, dtype=torch.float64)
        return [function(torch.zeros(*batch, 1, *(size,) * rank, dtype=torch.float64), weight, None, stride, padding) for batch, stride in itertools.product([(1,), ()], [1, 2])]

    both(body)
