"""forward_ad within vmap, which torch does not support, compared with the loop over the slices."""
from __future__ import annotations

import numpy as np
import pytest

import mstorch
from mstorch.autograd import forward_ad


def moved(primal, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(primal, tangent)
        value, slope = forward_ad.unpack_dual(dual.sin().cumsum(0) * dual)
        return value, slope


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None), (1, 0)])
def test_slices(dims):
    both = [mstorch.tensor(np.random.RandomState(seed).randn(3, 3)) for seed in (0, 1)]
    given = [x[0] if dim is None else x for x, dim in zip(both, dims)]
    rows = [[x if dim is None else x.select(dim, place) for x, dim in zip(given, dims)] for place in range(3)]
    for number, got in enumerate(mstorch.vmap(moved, dims)(*given)):
        wanted = mstorch.stack([moved(*row)[number] for row in rows])
        np.testing.assert_allclose(got.numpy(), wanted.numpy())


def test_without_tangent():
    def body(primal):
        with forward_ad.dual_level():
            value, slope = forward_ad.unpack_dual(primal * 2)
            assert slope is None
            return value

    np.testing.assert_array_equal(mstorch.vmap(body)(mstorch.arange(3.0)).numpy(), [0, 2, 4])
