"""Reductions and functions that NumPy computes in another way for larger arrays, of special values, compared with torch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

SHAPES = [(16,), (16, 16), (3, 5, 40), (64, 300), (5, 0), (2, 2048)]
DTYPES = [np.float32, np.float64]


def _arrays(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Return arrays of both floating dtypes: random, with NaN, with infinities, of equal numbers, of whole numbers, of zeros of both signs."""
    rng = np.random.default_rng(3)
    arrays = []
    for dtype in DTYPES:
        plain = rng.standard_normal(shape).astype(dtype)
        arrays += [plain, (plain * 3).round(), np.full(shape, -np.inf, dtype), np.full(shape, np.nan, dtype), np.copysign(np.zeros(shape, dtype), plain)]
        for odd in (np.nan, np.inf, -np.inf):
            some = plain.copy()
            some.reshape(-1)[::3] = odd
            arrays.append(some)
    return arrays


def _plain(parts: Any) -> list[Any]:
    return list(parts) if isinstance(parts, tuple) else [parts]


REDUCED = {
    **{name: lambda torch, x, dim, keep, name=name: getattr(x, name)(dim, keepdim=keep) for name in ("median", "nanmedian", "amax", "amin", "logsumexp", "prod")},
    "norm": lambda torch, x, dim, keep: x.norm(dim=dim, keepdim=keep),
    "logsumexp, all": lambda torch, x, dim, keep: x.logsumexp(tuple(range(x.dim())), keep),
}  # fmt: skip
OTHERS = {
    "norm": lambda torch, x: [x.norm(), torch.linalg.vector_norm(x)],
    "unique": lambda torch, x: [torch.unique(x), *torch.unique(x, return_inverse=True, return_counts=True)],
    "clamp": lambda torch, x: [x.clamp(low, high) for low, high in ((-1, 1), (0.0, 1), (-1, -0.0), (2, -2), (float("nan"), 1), (-1, float("nan")), (None, 1))],
    "roll": lambda torch, x: [y.roll(*moves) for y in (x, x.transpose(0, -1)) for moves in ((1, 0), (-2, -1), (7, None), ((1, 2), (0, -1)), (100, 0))],
    "triangles": lambda torch, x: [part for k in (0, 1, -1, 50) for part in (x.tril(k), x.triu(k))] if x.dim() > 1 else [],
    "layer_norm": lambda torch, x: [torch.nn.functional.layer_norm(x, x.shape[-1:])] if x.numel() else [],
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(both, shape, name):
    def body(torch):
        results = []
        for array in _arrays(shape):
            for dim in {0, len(shape) - 1} if array.size else {0}:
                for keep in (False, True):
                    x = torch.tensor(array, requires_grad=True)
                    found = _plain(REDUCED[name](torch, x, dim, keep)) if array.size or name not in ("amax", "amin") else [x]
                    results += found
                    if array.size:
                        found[0].sum().backward()
                        results.append(x.grad)
        return results

    both(body, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_functions(both, shape, name):
    both(lambda torch: [part for array in _arrays(shape) for part in OTHERS[name](torch, torch.tensor(array))], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_an_empty_dimension_is_named_as_it_was_given(both, name):
    def body(torch):
        told = []
        for dim in (-1, (-1,), 1, [-1]):
            with pytest.raises(IndexError) as error:
                getattr(torch.empty(5, 0), name)(dim)
            told.append(str(error.value))
        return told

    both(body)
