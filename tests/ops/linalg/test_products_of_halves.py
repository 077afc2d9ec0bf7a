"""Half-precision products and reciprocal roots have torch's bits."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

SHAPES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((), {}), ((0,), {}), ((9,), {}), ((63,), {}), ((64,), {}), ((300,), {}), ((4, 5), {}), ((4, 5), {"dim": 0}), ((4, 70), {"dim": 1}),
    ((70, 4), {"dim": 0}), ((3, 130), {"dim": 1, "keepdim": True}), ((3, 4, 5), {"dim": 1}), ((3, 0), {"dim": 0}), ((70, 1), {"dim": 0}),
    ((1, 70, 1), {"dim": 1, "keepdim": True}), ((3, 0, 2), {"dim": 2, "keepdim": True}),
]  # fmt: skip


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "options"), SHAPES)
def test_products(shape: tuple[int, ...], options: dict[str, Any], kind: str, steps: int) -> None:
    numbers = np.asarray(np.random.default_rng(2).random(shape) * 0.2 + 0.9, np.float32)
    found = []
    for torch in (real_torch, mstorch):
        x = torch.from_numpy(numbers.copy()).to(getattr(torch, kind))
        found.append((x[..., ::steps] if shape else x).prod(**options))
    want, got = found
    assert (tuple(got.shape), got.stride(), str(got.dtype)) == (tuple(want.shape), want.stride(), str(want.dtype))
    np.testing.assert_array_equal(got.float().numpy(), want.float().numpy())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (40,), (5, 7), (64,), (2, 35)])
def test_reciprocal_roots(shape: tuple[int, ...], kind: str) -> None:
    numbers = np.asarray(np.random.default_rng(3).random(shape), np.float32)
    want, got = (torch.from_numpy(numbers.copy()).to(getattr(torch, kind)).rsqrt() for torch in (real_torch, mstorch))
    np.testing.assert_array_equal(got.float().numpy(), want.float().numpy())
