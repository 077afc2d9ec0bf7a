"""Normalization of small numbers is accurate to single precision, forward and backward."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

FUNCTIONS = {
    "layer": lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (32,), w, b),
    "layer, small epsilon": lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (32,), w, b, 1e-9),
    "batch": lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True),
    "group": lambda torch, x, w, b: torch.nn.functional.group_norm(x, 4, w, b),
}


def _run(torch: Any, function: Any, scale: float, dtype: str) -> list[np.ndarray]:
    def leaf(seed: int, *shape: int, scale: float = 1.0) -> Any:
        array = (np.random.RandomState(seed).randn(*shape) * scale).astype(np.float32)
        return torch.tensor(array).to(getattr(torch, dtype)).requires_grad_()

    leaves = [leaf(0, 64, 32, scale=scale), leaf(1, 32), leaf(2, 32)]
    result = function(torch, *leaves)
    result.backward(leaf(3, 64, 32).detach())
    return [tensor.detach().numpy() for tensor in (result, *(each.grad for each in leaves))]


@pytest.mark.parametrize("scale", [10.0, 1.0, 0.1, 0.01, 1e-3, 0.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str, scale: float) -> None:
    exact = _run(real_torch, FUNCTIONS[name], scale, "float64")
    for want, got in zip(exact, _run(mstorch, FUNCTIONS[name], scale, "float32")):
        assert np.abs(got - want).max() <= 3e-6 * max(np.abs(want).max(), 1e-30)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4, 3), (2, 3, 6), (0, 3, 2, 2)])
def test_batch_norm_by_given_statistics(both: Any, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        count = 1
        for length in shape:
            count *= length
        x = torch.linspace(-2, 3, count).reshape(shape).requires_grad_()
        weight, bias = torch.tensor([0.5, 1.0, 2.0], requires_grad=True), torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
        y = torch.nn.functional.batch_norm(x, torch.tensor([0.1, -0.2, 0.3]), torch.tensor([1.0, 0.5, 2.0]), weight, bias)
        first = torch.autograd.grad((y**2).sum(), (x, weight, bias), create_graph=True)
        second = torch.autograd.grad(sum((part**2).sum() for part in first), (x, weight))
        return y, first, second

    both(body, rtol=1e-4, atol=1e-4, strides=False)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_groups(weighted, both):
    """The gradients of both statistics count if both are used."""

    def body(torch):
        x = torch.tensor(np.random.RandomState(0).randn(2, 6, 3)).requires_grad_()
        weights = [torch.arange(1.0, 7, dtype=torch.float64).requires_grad_(), torch.ones(6).double()] if weighted else [None, None]
        y, centre, spread = torch.native_group_norm(x, *weights, 2, 6, 3, 3, 1e-5)
        start = (y**3).sum()
        ends = (start, start + centre.sum(), start + spread.sum(), start + (centre * spread).sum())
        return y, centre, spread, [torch.autograd.grad(end, x, retain_graph=True)[0] for end in ends]

    both(body)


def test_statistics_of_constants(both):
    """If only the weight requires grad, the statistics are tracked by autograd too."""

    def body(torch):
        weight = torch.ones(6).requires_grad_()
        return torch.native_group_norm(torch.arange(36.0).reshape(2, 6, 3), weight, None, 2, 6, 3, 3, 1e-5)

    both(body)


def test_norms_of_nothing(both):
    def body(torch):
        found = []
        for shape in ((2, 4, 0), (0, 4, 3), (2, 4, 3)):
            layer = torch.nn.GroupNorm(2, 4)
            layer(torch.ones(shape)).sum().backward()
            found += [layer.weight.grad, layer.bias.grad]
        return found

    def stray(torch):
        return torch.nn.InstanceNorm1d(4, track_running_stats=True)(torch.ones(2, 4))

    both(body)
    both(stray)
    both(lambda torch: torch.nn.InstanceNorm1d(4)(torch.ones(0, 4, 3)))
    both(lambda torch: torch.nn.InstanceNorm1d(4, affine=True)(torch.ones(0, 4, 3)))


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf, -math.inf, -1])
@pytest.mark.parametrize("kind", ["float64", "float16", "complex128"])
def test_slopes_of_vector_norms(p, kind, both):
    def body(torch):
        found = []
        for values in ([0.0, 0.0], [1.0, -2.0], [0.0, 3.0], [2.0, 2.0], [math.nan, 1.0], [math.inf, 1.0]):
            for dim, keepdim in ((None, False), (0, True), (0, False)):
                x = torch.tensor(values, dtype=getattr(torch, kind)).requires_grad_()
                norm = torch.linalg.vector_norm(x, p, dim, keepdim)
                (slope,) = torch.autograd.grad(norm.sum(), x, allow_unused=True, create_graph=kind == "float64")
                second = None
                if slope is not None and slope.requires_grad:
                    (second,) = torch.autograd.grad(slope.sum(), x, allow_unused=True)
                found.append((norm.grad_fn.name(), slope, slope is not None and slope._version, second))
        return found

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("p", [1, 2, 3, 0.5, float("inf")])
@pytest.mark.parametrize("used", ["inverse", "logarithm", "infinite"])
def test_slopes_where_the_norm_is_zero(both, used, p, dtype):
    def body(torch):
        x = torch.zeros(2, dtype=getattr(torch, dtype)).requires_grad_()
        norm = x.norm(p, dim=-1)
        {"inverse": lambda: 1.5 / norm, "logarithm": norm.log, "infinite": lambda: norm * float("inf")}[used]().backward()
        return x.grad

    both(body)


SHAPES = [(4, 3), (64, 128), (300, 70), (40, 24, 1), (2, 3, 1, 1), (8, 16, 12, 12), (4, 8, 40, 40), (33, 1, 200), (2, 6, 5, 4, 3), (3, 5, 5000)]
OFFSETS = {"around zero": 0.0, "away from zero": 1.5, "far from zero": 1000.0}


def _normalized(torch: Any, shape: tuple[int, ...], dtype: str, offset: float, training: bool) -> list[Any]:
    generator = np.random.RandomState(0)
    kind = getattr(torch, dtype)
    x, g = (torch.tensor(generator.randn(*shape)).to(kind) for _ in range(2))
    weight, bias, mean, var = (torch.tensor(generator.rand(shape[1]) + 0.5).to(kind) for _ in range(4))
    leaves = [tensor.detach().requires_grad_() for tensor in (x + offset, weight, bias)]
    y = torch.nn.functional.batch_norm(leaves[0], mean, var, *leaves[1:], training)
    y.backward(g)
    return [tensor.detach().double().numpy() for tensor in (y, *(each.grad for each in leaves), mean, var)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm_of_any_shape(shape: tuple[int, ...], dtype: str, offset: str, training: bool) -> None:
    """Vectors, few and many images use different kernels, and so do inputs whose mean is far from zero."""
    away = OFFSETS[offset] if dtype != "bfloat16" else min(OFFSETS[offset], 8.0)
    exact = _normalized(real_torch, shape, "float64" if dtype == "float32" else dtype, away, training)
    double = 1e-11 if mstorch.get_default_device().type == "cpu" else 1e-8  # a device's kernel uses the momentum in single precision
    unit = {"float32": 1e-6 * (1 + away / 2), "float64": double * (1 + away), "bfloat16": 0.02}[dtype]
    for want, got in zip(exact, _normalized(mstorch, shape, dtype, away, training)):
        assert want.shape == got.shape
        assert np.abs(got - want).max() <= 4 * unit * max(np.abs(want).max(), 1.0)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e30])
@pytest.mark.parametrize("shape", [(64, 128), (2, 3, 4, 4), (4, 8, 40, 40)], ids=str)
def test_batch_norm_of_no_numbers(shape: tuple[int, ...], value: float) -> None:
    """Only the channel with NaN or infinity is affected, as in torch."""
    found = []
    for torch in (real_torch, mstorch):
        x = torch.tensor(np.random.RandomState(1).randn(*shape).astype(np.float32))
        x[1, 2] = value
        found.append(torch.nn.functional.batch_norm(x, None, None, training=True).numpy())
    np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(found[1]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_batch_norm_of_some_channels_far_from_zero() -> None:
    """Channels far from zero are computed separately."""
    found = []
    for torch, dtype in ((real_torch, "float64"), (mstorch, "float32")):
        generator = np.random.RandomState(2)
        offset = np.where(np.arange(16) % 5 == 0, 300.0, 0.5).reshape(16, 1, 1)
        x = torch.tensor((generator.randn(4, 16, 40, 40) + offset).astype(np.float32)).to(getattr(torch, dtype)).requires_grad_()
        weight, bias = (torch.tensor(generator.rand(16).astype(np.float32)).to(x.dtype).requires_grad_() for _ in range(2))
        y = torch.nn.functional.batch_norm(x, None, None, weight, bias, True)
        y.backward(torch.tensor(generator.randn(4, 16, 40, 40)).to(x.dtype))
        found.append([item.detach().double().numpy() for item in (y, x.grad, weight.grad, bias.grad)])
    for want, got in zip(*found):
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
