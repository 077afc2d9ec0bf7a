"""First and second gradients at kinks, poles and limits of functions, compared with torch."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mstorch

POINTS = [0.0, 1.0, -1.0, 0.5, -0.5, 0.3, -0.3, 2.0, -2.0, 3.0, -3.0, 0.9, 6.0, 20.5, -25.0, math.inf, -math.inf, math.nan, 0.2, 0.7]
INNER = [0.05, 0.2, 0.45, 0.7, 0.9]
ROWS = np.array([[0.5, -1.5, 2.0, 0.25], [1.0, 0.0, -0.75, 3.0], [2.0, 2.0, -1.0, 0.0]])
IMAGE = np.round(np.random.RandomState(0).randn(2, 2, 6, 7) * 2, 1)


def _named(names: str, where: Callable[[Any], Any] = lambda t: t) -> dict[str, Any]:
    return {name: lambda t, *x, name=name: getattr(where(t), name)(*x) for name in names.split()}


ONE = {
    **_named("tan asin acos atan asinh acosh exp2 frac erfc erfinv i0 floor abs sign logit"),
    **_named("ndtri entr i0e erfcx", lambda t: t.special),
    **_named("hardtanh relu relu6 elu selu celu softplus logsigmoid hardswish softshrink hardshrink tanhshrink leaky_relu",
             lambda t: t.nn.functional),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0.3, 0.2),
    "softplus with beta": lambda t, x: t.nn.functional.softplus(x, 2.0, 3.0),
    "clamp": lambda t, x: t.clamp(x, -0.5, 0.5),
    "clamp crossed": lambda t, x: t.clamp(x, 0.5, -0.5),
    "remainder": lambda t, x: t.remainder(x, 0.7),
}  # fmt: skip
TWO = {
    **_named("atan2 fmax fmin fmod remainder maximum logaddexp logaddexp2"),
    "clamp": lambda t, x, y: t.clamp(x, y, y + 0.5),
    "broadcast": lambda t, x, y: t.hypot(x.reshape(1, -1), 0.1 + y.reshape(-1, 1)).sum(0),
}
SMOOTH = {**_named("digamma lgamma sinc atanh"), **_named("mish softsign hardsigmoid", lambda t: t.nn.functional),
          **_named("log_ndtr ndtr i1 i1e", lambda t: t.special), "polygamma": lambda t, x: t.polygamma(1, x)}  # fmt: skip


def _index(t: Any, *values: Any) -> Any:
    return t.tensor(values)


STRUCTURED: dict[str, Any] = {
    "prod with a zero": lambda t, x: x.prod(1),
    "prod of all": lambda t, x: x.prod(),
    "cumprod with zeros": lambda t, x: x.cumprod(1),
    "cumsum": lambda t, x: (x * x).cumsum(0),
    "amax with ties": lambda t, x: x.amax(1),
    "max": lambda t, x: x.max(),
    "repeat": lambda t, x: (x * x).repeat(2, 1, 3),
    "roll and flip": lambda t, x: (x * x).roll(2, 1).flip(0),
    "tril": lambda t, x: (x * x).tril(-1),
    "reflect": lambda t, x: t.nn.functional.pad((x * x)[None], (2, 1), mode="reflect"),
    "scatter": lambda t, x: (x * x).scatter(1, _index(t, [0, 2], [1, 3], [3, 0]), x[:, :2] ** 3),
    "scatter_add": lambda t, x: (x * x).scatter_add(0, _index(t, [0, 0, 2, 1]), x[1:2] ** 3),
    "scatter_reduce mean": lambda t, x: (x * x).scatter_reduce(0, _index(t, [0, 0, 2, 1]), x[1:2] ** 3, "mean", include_self=False),
    "scatter_reduce prod": lambda t, x: (x * x + 1).scatter_reduce(0, _index(t, [0, 0, 2, 1]), x[1:2] ** 3, "prod"),
    "scatter_reduce amax": lambda t, x: x.scatter_reduce(0, _index(t, [0, 1, 2, 1]), x[2:3], "amax"),
    "put": lambda t, x: (x * x).put(_index(t, 1, -1, 3), x[0, :3] ** 3, accumulate=True),
    "index_add": lambda t, x: (x * x).index_add(1, _index(t, 0, 0, 2), x[:, 1:] ** 3, alpha=2.0),
    "index_copy": lambda t, x: (x * x).index_copy(1, _index(t, 3), x[:, :1] ** 3),
    "nll": lambda t, x: t.nn.functional.nll_loss(x * x, _index(t, 1, -100, 2), t.tensor([0.2, 0.3, 0.1, 0.4], dtype=x.dtype)),
    "fft": lambda t, x: t.fft.fft(x, norm="ortho").abs().square(),
    "lstm_cell": lambda t, x: t.cat(t.lstm_cell(x[:1], (x[1:2, :2], x[2:, :2]), x.repeat(3, 1)[:8], x[:, :2].repeat(3, 1)[:8]), 1),
    "gru_cell": lambda t, x: t.gru_cell(x[:1], x[1:2, :2], x.repeat(2, 1), x[:, 1:3].repeat(2, 1)),
}
POOLS: dict[str, Any] = {
    "max_pool apart": lambda f, x: f.max_pool2d(x, 2),
    "max_pool overlapping": lambda f, x: f.max_pool2d(x, 3, 2, 1),
    "max_pool dilated, ceil": lambda f, x: f.max_pool2d(x, 2, 2, 0, 2, ceil_mode=True),
    "max_pool with indices": lambda f, x: f.max_pool2d(x, 3, 2, 1, return_indices=True)[0],
    "avg_pool": lambda f, x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg_pool ceil": lambda f, x: f.avg_pool2d(x, 2, 2, ceil_mode=True, divisor_override=3),
    "adaptive_avg_pool": lambda f, x: f.adaptive_avg_pool2d(x, (4, 3)),
    "adaptive_max_pool": lambda f, x: f.adaptive_max_pool2d(x, (4, 3)),
    "bilinear": lambda f, x: f.interpolate(x, size=(4, 9), mode="bilinear"),
    "nearest": lambda f, x: f.interpolate(x, scale_factor=2),
    "unfold": lambda f, x: f.unfold(x, 3, 1, 1, 2),
}


def _gradients(t: Any, function: Any, arrays: list[np.ndarray], twice: bool) -> list[Any]:
    leaves = [t.tensor(array.tolist(), dtype=t.float64, requires_grad=True) for array in arrays]
    result = function(t, *leaves)
    weights = t.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).reshape(result.shape)
    found = t.autograd.grad(result, leaves, weights, create_graph=twice, allow_unused=True)
    values = [result, *found]
    for gradient in found if twice else ():
        if gradient is None or not gradient.requires_grad:
            values += [None] * len(leaves)
        else:
            again = t.linspace(1.5, 0.5, gradient.numel(), dtype=gradient.dtype).reshape(gradient.shape)
            values += t.autograd.grad(gradient, leaves, again, allow_unused=True, retain_graph=True)
    return [None if value is None else np.array(value.detach().tolist()) for value in values]


def _same(function: Any, arrays: list[np.ndarray], twice: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = _gradients(torch, function, arrays, twice), _gradients(mstorch, function, arrays, twice)
    assert len(got) == len(want)
    for number, (a, b) in enumerate(zip(got, want)):
        if a is None or b is None:
            rest = b if a is None else a
            assert rest is None or not rest.any(), number  # torch has zeros at some places if the gradient is not recorded
        else:
            np.testing.assert_allclose(a, b, rtol=2e-7, atol=1e-9, err_msg=str(number))


# torch propagates NaN in its vectorized code, and not in the scalar remainder
_SIGNS_OF_NAN = {"hardtanh", "relu6", "softshrink", "hardshrink", "hardswish", "elu", "selu", "celu"}


@pytest.mark.parametrize("name", ONE)
def test_corners(name: str) -> None:
    points = [p for p in POINTS if not (name in _SIGNS_OF_NAN and math.isnan(p))]
    _same(ONE[name], [np.array(points)], False)


@pytest.mark.parametrize("name", TWO)
def test_corners_of_two(name: str) -> None:
    points = np.array([p for p in POINTS if math.isfinite(p)])
    _same(TWO[name], [np.repeat(points, len(points)), np.tile(points, len(points))], False)


@pytest.mark.parametrize("name", [*ONE, *SMOOTH])
def test_second_gradients(name: str) -> None:
    if name not in ("hardsigmoid", "abs"):  # torch has none, and a tensor of zeros without memory
        _same({**ONE, **SMOOTH}[name], [np.array(INNER)], True)


@pytest.mark.parametrize("name", TWO)
def test_second_gradients_of_two(name: str) -> None:
    _same(TWO[name], [np.array(INNER), np.array(INNER[::-1])], True)


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured(name: str) -> None:
    _same(STRUCTURED[name], [ROWS], True)


@pytest.mark.parametrize("name", POOLS)
def test_pools(name: str) -> None:
    _same(lambda t, x: POOLS[name](t.nn.functional, x), [IMAGE], True)


def test_max_pool_of_the_lowest_value_takes_no_padding() -> None:
    image = np.full((1, 1, 4, 4), -math.inf)
    for indices in (False, True):
        leaf, real = (t.tensor(image.tolist(), requires_grad=True) for t in (mstorch, torch))
        for t, x in ((mstorch, leaf), (torch, real)):
            pooled = t.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=indices)
            (pooled[0] if indices else pooled).backward(t.ones(1, 1, 2, 2))
        assert leaf.grad.tolist() == real.grad.tolist()


@pytest.mark.parametrize("factor", [0.3, 1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("which", ["x.max()", "x.min()", "x.amax(1)", "x.amin((0, 1), keepdim=True)"])
def test_equal_elements_share_a_slope(both, which, kind, factor):
    """The gradient is scaled, then shared among equal elements; elements that are not the largest get zeros, also for infinite gradients.
    """

    def body(torch):
        x = torch.tensor([[1.0, 3, 3], [3, 1, 0.3]], dtype=getattr(torch, kind)).requires_grad_()
        found = (eval(which, {"x": x}) * factor).sum()
        return torch.autograd.grad(found, x, create_graph=True)[0]

    both(body)


def test_the_largest_that_is_not_there_any_more(both):
    def body(torch):
        x = torch.ones(2, requires_grad=True)
        found = x.max()
        x.data.add_(1)
        found.backward()
        return x.grad

    both(body)
