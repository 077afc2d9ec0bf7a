"""Fake quantization: each function's values and gradients are torch's, bit for bit."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

from ..against_torch import both

EDGES = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 3e9, -3e9, 1e19, -1e19]
RANGES = [(-128, 127), (0, 255), (-5, 5), (0, 15), (-64, 63)]


def bits(tensor: Any) -> Any:
    """Return the bits of a tensor's elements, so that signs of zeros and NaN are compared."""
    array = tensor.detach().numpy()
    return array.dtype, array.shape, np.where(np.isnan(array), 0, array).tobytes(), np.isnan(array).tobytes()


def alike(body: Any) -> None:
    """Assert that a body gives the same bits with both libraries."""
    want, got = body(real_torch), body(mstorch)
    assert len(want) == len(got)
    for number, (w, g) in enumerate(zip(want, got)):
        assert bits(w) == bits(g), f"result {number}: {w} expected, {g} given"


def numbers(seed: int, scale: float, kind: Any) -> np.ndarray:
    """Return numbers around the steps of a scale, halfway between two steps, and at the ends of the range."""
    draw = np.random.RandomState(seed)
    halves = (draw.randint(-300, 300, 100) + 0.5) * scale
    with np.errstate(over="ignore"):
        return np.concatenate([draw.randn(200) * scale * 100, halves, EDGES]).astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("scale", [0.1, 0.25, 1.0, 0.0137])
@pytest.mark.parametrize("given", ["numbers", "tensors", "floating point"])
def test_per_tensor(kind: Any, scale: float, given: str) -> None:
    for seed, (low, high) in enumerate(RANGES):
        x = numbers(seed, scale, kind)
        g = np.random.RandomState(seed + 9).randn(len(x)).astype(kind)
        point = low + (7 * seed) % (high - low)

        def body(torch: Any) -> Any:
            tensor = torch.tensor(x, requires_grad=True)
            params: Any = (scale, point)
            if given != "numbers":
                zero = torch.tensor(point + 0.7) if given == "floating point" else torch.tensor([point], dtype=torch.int32)
                params = (torch.tensor([scale]), zero)
            found = torch.fake_quantize_per_tensor_affine(tensor, *params, low, high)
            found.backward(torch.tensor(g))
            return found, tensor.grad

        alike(body)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_channel(kind: Any, floating: bool, axis: int) -> None:
    draw = np.random.RandomState(3)
    for low, high in RANGES:
        x = numbers(1, 0.1, kind)[: 2 * 3 * 50].reshape(2, 3, 50)
        count = x.shape[axis]
        scales, points = (draw.rand(count) + 0.01).astype(np.float32), draw.randint(low, high + 1, count)
        g = draw.randn(*x.shape).astype(kind)

        def body(torch: Any) -> Any:
            tensor = torch.tensor(x, requires_grad=True)
            zero = torch.tensor((points + 0.3).astype(np.float32)) if floating else torch.tensor(points.astype(np.int32))
            found = torch.fake_quantize_per_channel_affine(tensor, torch.tensor(scales), zero, axis, low, high)
            found.backward(torch.tensor(g))
            return found, tensor.grad

        alike(body)


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_learnable(channels: bool, factor: float) -> None:
    """The gradients of scales and zero points are sums, which torch adds in another order."""
    for seed in range(20):
        draw = np.random.RandomState(seed)
        x, g = ((draw.randn(3, 4, 5) * size).astype(np.float32) for size in (3, 1))
        scales, points = (draw.rand(4) + 0.01).astype(np.float32), (draw.randn(4) * 4).astype(np.float32)

        def body(torch: Any) -> Any:
            tensor = torch.tensor(x, requires_grad=True)
            scale = torch.tensor(scales if channels else scales[:1], requires_grad=True)
            point = torch.tensor(points if channels else points[:1], requires_grad=True)
            if channels:
                found = torch._fake_quantize_learnable_per_channel_affine(tensor, scale, point, 1, -20, 20, factor)
            else:
                found = torch._fake_quantize_learnable_per_tensor_affine(tensor, scale, point, -20, 20, factor)
            found.backward(torch.tensor(g))
            return found, tensor.grad, scale.grad, point.grad

        alike(lambda torch: body(torch)[:2])
        both(lambda torch: body(torch)[2:], atol=1e-5)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("shift", [-6.0, -0.5, 0.0, 6.0])
def test_fused(symmetric: bool, rows: bool, shift: float) -> None:
    draw = np.random.RandomState(5)
    batches = [(draw.randn(4, 6) * (1 + i) + shift).astype(np.float32) for i in range(3)]

    def body(torch: Any) -> Any:
        on = torch.tensor([1])
        low = torch.tensor([]) if rows else torch.tensor([float("inf")])
        high = torch.tensor([]) if rows else torch.tensor([float("-inf")])
        scale, point = torch.ones(1), torch.zeros(1, dtype=torch.int32)
        found = []
        for batch in batches:
            x = torch.tensor(batch, requires_grad=True)
            y = torch.fused_moving_avg_obs_fake_quant(
                x, on, on, low, high, scale, point, 0.01, -128, 127, 0 if rows else -1, rows, symmetric
            )
            y.sum().backward()
            found += [y, x.grad, low.clone(), high.clone(), scale.clone(), point.clone()]
        return found

    alike(body)


def test_switches_and_nothing() -> None:
    def body(torch: Any, observe: int, round_: int) -> Any:
        low, high, scale, point = torch.tensor([-1.0]), torch.tensor([1.0]), torch.tensor([0.2]), torch.tensor([1], dtype=torch.int32)
        x = torch.tensor([-3.03, 0.27, 2.0], requires_grad=True)
        y = torch.fused_moving_avg_obs_fake_quant(
            x, torch.tensor([observe]), torch.tensor([round_]), low, high, scale, point, 0.5, -10, 10, -1
        )
        y.sum().backward()
        return y, x.grad, low, high, scale, point

    for observe in (0, 1):
        for round_ in (0, 1):
            both(lambda torch: body(torch, observe, round_))
    both(lambda torch: torch.fake_quantize_per_tensor_affine(torch.ones(0, 3), 0.1, 0, 0, 255))


def test_choosing() -> None:
    draw = np.random.RandomState(0)
    cases = [draw.randn(20) * 10 ** draw.uniform(-9, 9) + draw.randn() for _ in range(300)]
    cases += [[0.0, 0.0], [1e-30, 2e-30], [-1e-30, 2e-30], [1.0], [-1.0], [3e38, -3e38]]
    for case in cases:
        for reduced in (False, True):
            want, got = (torch._choose_qparams_per_tensor(torch.tensor(np.float32(case)), reduced) for torch in (real_torch, mstorch))
            assert want == got, case


MISTAKES = [
    lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 0, 5, 1),
    lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 300, -128, 127),
    lambda t, x: t.fake_quantize_per_tensor_affine(x.long(), 0.1, 0, -128, 127),
    lambda t, x: t.fake_quantize_per_tensor_affine(x, t.tensor([0.1, 0.2]), t.tensor([0, 0], dtype=t.int32), -128, 127),
    lambda t, x: t.fake_quantize_per_tensor_affine(x, t.tensor([0.1], requires_grad=True), t.tensor([0], dtype=t.int32), -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.zeros(3, dtype=t.int64), 1, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3).double(), t.zeros(3, dtype=t.int32), 1, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.zeros(3, dtype=t.int32), 0, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.zeros(3, dtype=t.int32), 3, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.zeros(3, dtype=t.int32), -1, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.zeros(3, dtype=t.int32), 1, 128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.tensor([0, 1, 200], dtype=t.int32), 1, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(1, 3), t.zeros(3, dtype=t.int32), 1, -128, 127),
    lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(3), t.zeros(2, dtype=t.int32), 1, -128, 127),
    lambda t, x: t._choose_qparams_per_tensor(t.tensor([float("nan"), 1.0])),
    lambda t, x: t._choose_qparams_per_tensor(t.tensor([])),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int) -> None:
    both(lambda torch: MISTAKES[number](torch, torch.ones(2, 3)))


def test_nodes_have_torchs_names() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        scale, point = torch.ones(3), torch.zeros(3, dtype=torch.int32)
        found = [
            torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255), torch.fake_quantize_per_channel_affine(x, scale, point, 1, 0, 255),
            torch.fake_quantize_per_tensor_affine(x, scale[:1], point[:1], 0, 255),
            torch._fake_quantize_learnable_per_tensor_affine(x, scale[:1], point[:1].float(), 0, 255),
            torch._fake_quantize_learnable_per_channel_affine(x, scale, point.float(), 1, 0, 255),
        ]  # fmt: skip
        return [item.grad_fn.name() for item in found]

    both(body)
