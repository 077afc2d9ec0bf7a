"""Steps of optimizers on a GPU: the primitives that its rows run, by MindSpore's kernels for the CPU, beside the formulas."""
from __future__ import annotations

import mindspore
import numpy as np
import pytest

from mstorch._src.backend import gpu
from mstorch._src.backend.host import fused

RANDOM = np.random.default_rng(3)


def _arrays(count: int) -> list[np.ndarray]:
    return [RANDOM.standard_normal((3, 4)).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("done", [0, 1, 5])
def test_adamw(done: int, decay: float, maximize: bool) -> None:
    param, grad, mean, square = _arrays(4)
    numbers = (done, 0.01, 0.8, 0.99, decay, 1e-3, maximize)
    want = fused.adamw_step(param, grad, mean, abs(square), *numbers)
    got = gpu._adamw_step(*[mindspore.Tensor(array) for array in (param, grad, mean, abs(square))], *numbers)
    for expected, result in zip(want, got):
        np.testing.assert_allclose(result.asnumpy(), expected, rtol=2e-5, atol=1e-6)


def test_momentum() -> None:
    param, grad, velocity = _arrays(3)
    want = fused.momentum_step(param, grad, velocity, 0.1, 0.9)
    got = gpu._momentum_step(*[mindspore.Tensor(array) for array in (param, grad, velocity)], 0.1, 0.9)
    for expected, result in zip(want, got):
        np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6, atol=1e-7)
