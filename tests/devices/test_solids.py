"""Pooling of solids on Ascend, which its kernels of planes compute: those kernels are played by the host's."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mstorch._src.backend.ascend import gradients, pool
from mstorch._src.backend.host.gradients import numpy_max_pool_grad
from mstorch._src.backend.raw import Raw, from_numpy
from mstorch._src.backend.table import HOST

CASES = [
    ((2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1), (5, 6, 7), (2, 3, 3)), ((3, 2, 3), (1, 2, 2), (1, 0, 1), (1, 1, 1), (5, 6, 7), (5, 3, 4)),
    ((2, 3, 2), (2, 1, 3), (1, 1, 1), (2, 1, 2), (5, 4, 7), (3, 4, 3)), ((3, 3, 3), (2, 2, 2), (0, 0, 0), (1, 1, 1), (6, 6, 6), (3, 3, 3)),  # rounded up
]  # fmt: skip


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Play Ascend's kernels by the host's, and return their names."""
    asked: list[str] = []

    def run(name: str, *args: Any, at: Any = ()) -> Any:
        asked.append(name)
        x, *rest = (item.asnumpy() if isinstance(item, Raw) else item for item in args)
        if name.startswith("MaxPool"):
            kernel, stride, padding, dilation, ceil = at
            sizes = zip(x.shape[2:], kernel, stride, padding, dilation)
            out = tuple(-(-(n + 2 * p - d * (k - 1) - 1) // s) + 1 if ceil else (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
            numbers = kernel, stride, padding, dilation, out
            found = numpy_max_pool_grad(rest[0], x, *numbers) if "Grad" in name else HOST["max_pool_indices"].function(x, *numbers)
        elif name == "AdaptiveMaxPool2D":
            found = HOST["adaptive_max_pool"].function(x, *at)
        elif name == "GatherD":
            found = np.take_along_axis(x, rest[1], rest[0])
        else:
            found = {"Reshape": np.reshape, "Mul": np.multiply, "AddExt": lambda a, b, _: a + b, "DivMod": lambda a, b, _: a // b}[name](x, *rest)
        return tuple(map(from_numpy, map(np.ascontiguousarray, found))) if isinstance(found, tuple) else from_numpy(np.ascontiguousarray(found))

    for module in (pool, gradients):
        monkeypatch.setattr(module, "run", run)
    return asked


def _solids(sizes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Return different numbers, numbers with many equal ones, and numbers with NaN."""
    random = np.random.default_rng(0)
    plain = random.standard_normal((2, 3, *sizes)).astype(np.float32)
    return [plain, np.round(plain), np.where(random.random(plain.shape) < 0.1, np.float32(np.nan), plain)]


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "sizes", "out"), CASES)
def test_a_pooling_of_planes_and_of_their_depth(
    played: list[str], kernel: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, out: Any
) -> None:
    numbers = kernel, stride, padding, dilation, out
    for x in _solids(sizes):
        values, index = (item.asnumpy() for item in pool._max_pool_indices(from_numpy(x), *numbers))
        wanted, places = HOST["max_pool_indices"].function(x, *numbers)
        assert np.array_equal(values, wanted, equal_nan=True) and np.array_equal(index, places)
        assert np.array_equal(pool._max_pool(from_numpy(x), *numbers).asnumpy(), wanted, equal_nan=True)
        g = np.random.default_rng(1).standard_normal(wanted.shape).astype(np.float32)
        played.clear()
        found = gradients._max_pool_grad(from_numpy(g), from_numpy(x), *numbers).asnumpy()
        assert np.allclose(found, numpy_max_pool_grad(g, x, *numbers), 1e-6, 1e-6)
        assert [name for name in played if name != "Reshape"] == ["MaxPoolWithMask", "MaxPoolWithMask", "MaxPoolGradWithMask", "MaxPoolGradWithMask"]


@pytest.mark.parametrize(("sizes", "out"), list(itertools.product([(5, 6, 7), (3, 3, 8)], [(2, 3, 3), (1, 1, 1), (3, 2, 5)])))
def test_an_adaptive_pooling_of_a_solid(played: list[str], sizes: Any, out: Any) -> None:
    for x in _solids(sizes):
        values, index = (item.asnumpy() for item in pool._adaptive_max_pool(from_numpy(x), out))
        wanted, places = HOST["adaptive_max_pool"].function(x, out)
        assert np.array_equal(values, wanted, equal_nan=True) and np.array_equal(index, places)
