"""Pooling: windows of padding only, integers, sizes that do not match."""
from __future__ import annotations

import numpy as np
import pytest

import mstorch


@pytest.mark.parametrize("options", [(2, None, 1, 2), (2, 2, 1, 2, True), (2, 1, 1, 2)])
@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("indices", [True, False])
def test_windows_of_padding_alone(both, options, length, indices):
    both(lambda torch: torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0]])[:, :length], *options, return_indices=indices))


def test_no_gradient_through_windows_of_padding_alone():
    x = mstorch.ones(1, 1, 1, requires_grad=True)
    result = mstorch.nn.functional.max_pool1d(x, 2, 2, 1, 2)
    result.backward(mstorch.ones_like(result))
    assert result.item() == float("-inf") and x.grad.item() == 0


@pytest.mark.parametrize("options", [(2,), (3,), (2, 2, 1), (3, 2, 1, False, False), (3, 2, 1, True, True)])
def test_means_of_integers(both, options):
    both(lambda torch: torch.nn.functional.avg_pool1d(torch.tensor([[[1, 2, 3, -4, -5, -6, 7, 9]]]), *options))


def test_sums_of_integers_by_a_divisor(both):
    both(lambda torch: torch.nn.functional.avg_pool2d(torch.arange(-8, 8).reshape(1, 4, 4), 2, divisor_override=3))


@pytest.mark.parametrize("kind", ["uint8", "int32", "bool"])
@pytest.mark.parametrize("name", ["adaptive_max_pool", "adaptive_avg_pool", "avg_pool", "max_pool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_dtypes_without_kernels(both, name, rank, kind):
    both(lambda torch: getattr(torch.nn.functional, f"{name}{rank}d")(torch.ones((4,) * (rank + 1)).to(getattr(torch, kind)), 2))


@pytest.mark.parametrize("size", [0x3FFFFFFFFFFFFFFF, -1])
def test_sizes_out_of_reach(both, size):
    both(lambda torch: torch.nn.functional.adaptive_max_pool1d(torch.ones(2, 2, 2), size))


@pytest.mark.parametrize("sizes", [((1,), (3, 3, 3)), (2, (3,)), (2, (0, 3, 3)), ((), (3, 3, 3))])
def test_fractional_sizes(both, sizes):
    both(lambda torch: torch.nn.functional.fractional_max_pool3d(torch.ones(2, 7, 7, 7), *sizes))


def test_fractional_of_an_empty_batch(both):
    def body(torch):
        x = torch.ones(0, 16, 50, 32, requires_grad=True)
        result = torch.nn.functional.fractional_max_pool2d(x, 3, (40, 10))
        result.sum().backward()
        return result, x.grad

    both(body)


def test_a_single_volume_keeps_its_memory_format(both):
    def pooled(torch):
        x = torch.arange(3.0 * 6**3).reshape(1, 3, 6, 6, 6).contiguous(memory_format=torch.channels_last_3d)
        single = torch.nn.functional.max_pool3d(x[0], 2, return_indices=True)
        return [*single, torch.nn.functional.max_pool3d(x[0], 2), torch.nn.functional.max_pool3d(x, 2)]

    both(pooled)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name, args", [
    ("max_pool2d", ((3, 2), 2, 1)), ("max_pool2d", (2, 1, 0, 2)), ("max_pool3d", (2, 1, 1)), ("max_pool1d", (3, 2, 1)),
    ("adaptive_max_pool2d", ((3, 4),)), ("adaptive_max_pool1d", (4,)),
])  # fmt: skip
def test_the_last_nan_of_a_window_is_taken(both, name, args, dtype):
    """The last NaN of a window is its maximum; without NaN the first of equal numbers is. Positions and gradients correspond."""
    values = np.random.RandomState(0).choice([0.0, 1.0, 2.0, np.nan, -np.inf], (2, 3, 8, 9), p=[0.3, 0.3, 0.1, 0.25, 0.05])
    values = values[0] if name.endswith("1d") else values

    def body(torch):
        found = []
        for indices in (False, True):
            x = torch.tensor(values).to(getattr(torch, dtype)).requires_grad_()
            y = getattr(torch.nn.functional, name)(x, *args, return_indices=indices)
            first = y[0] if indices else y
            first.backward(torch.arange(1.0, first.numel() + 1).to(first.dtype).reshape(first.shape) % 7)
            found += [y, x.grad]
        return found

    both(body)


def test_sizes_of_adaptive_pools_in_an_array(both):
    def body(torch):
        x = torch.arange(72.0).reshape(1, 8, 9)
        sizes = np.array((2, 3))
        return torch.nn.AdaptiveAvgPool2d(sizes)(x), torch.nn.functional.adaptive_max_pool2d(x, sizes)

    both(body)
