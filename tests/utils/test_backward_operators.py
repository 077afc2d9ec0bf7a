"""Operators of torch.ops.aten that compute gradients of other operators: their values are torch's."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import values

GENERATOR = np.random.default_rng(0)


def _numbers(*shape: int) -> Any:
    return GENERATOR.standard_normal(shape).astype(np.float32)


X, G, SCALAR, SHARES = _numbers(2, 6), _numbers(2, 6), np.ones((), np.float32), GENERATOR.uniform(0.1, 0.9, (2, 6)).astype(np.float32)
IMAGE, VOLUME = _numbers(1, 2, 4, 4), _numbers(1, 2, 4, 4, 4)
CLASSES = np.array([0, 2])
CALLS: dict[str, tuple[Any, ...]] = {
    "glu_backward": (_numbers(2, 3), X, 1), "hardshrink_backward": (G, X, 0.5), "softshrink_backward": (G, X, 0.5),
    "logit_backward": (G, SHARES, None), "elu_backward": (G, 1.5, 1.0, 1.0, False, X), "leaky_relu_backward": (G, X, 0.1, False),
    "gelu_backward": (G, X), "hardtanh_backward": (G, X, -1.0, 0.5), "softplus_backward": (G, X, 1.0, 20.0),
    "silu_backward": (G, X), "mish_backward": (G, X), "hardswish_backward": (G, X), "hardsigmoid_backward": (G, X),
    "mse_loss_backward": (SCALAR, X, G, 1), "smooth_l1_loss_backward": (SCALAR, X, G, 2, 1.5), "huber_loss_backward": (SCALAR, X, G, 2, 1.5),
    "binary_cross_entropy_backward": (SCALAR, SHARES, SHARES), "soft_margin_loss_backward": (SCALAR, X, np.sign(G), 1),
    "multi_margin_loss_backward": (SCALAR, X, CLASSES, 1, 1.0, None, 1),
    "nll_loss_backward": (SCALAR, X, CLASSES, None, 1, -100, np.full((), 2, np.float32)),
    "avg_pool2d_backward": (_numbers(1, 2, 2, 2), IMAGE, [2, 2], [], [0, 0], False, True, None),
    "avg_pool3d_backward": (_numbers(1, 2, 2, 2, 2), VOLUME, [2, 2, 2], [], [0, 0, 0], False, True, None),
    "_adaptive_avg_pool2d_backward": (_numbers(1, 2, 2, 2), IMAGE), "_adaptive_avg_pool3d_backward": (_numbers(1, 2, 2, 2, 2), VOLUME),
    "reflection_pad2d_backward": (_numbers(1, 2, 6, 6), IMAGE, [1, 1, 1, 1]), "replication_pad1d_backward": (_numbers(2, 8), X, [1, 1]),
    "upsample_bicubic2d_backward": (_numbers(1, 2, 8, 8), [8, 8], [1, 2, 4, 4], False, None, None),
    "upsample_nearest1d_backward": (_numbers(1, 2, 8), [8], [1, 2, 4], None),
    "gather_backward": (_numbers(2, 2), X, 1, np.array([[0, 1], [2, 0]]), False),
    "_fake_quantize_learnable_per_tensor_affine_backward": (
        G, X, np.full(1, 0.1, np.float32), np.zeros(1, np.float32), 0, 255,
    ),
}  # fmt: skip


def _found(library: Any, name: str, args: tuple[Any, ...]) -> list[Any]:
    given = [library.from_numpy(np.array(item)) if isinstance(item, np.ndarray) else item for item in args]
    found = getattr(library.ops.aten, name)(*given)
    return [values(item) for item in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", CALLS)
def test_values(name: str) -> None:
    want, have = _found(real_torch, name, CALLS[name]), _found(mstorch, name, CALLS[name])
    assert [item.shape for item in have] == [item.shape for item in want]
    for one, other in zip(have, want):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_arguments_are_bound_by_the_schema() -> None:
    x, g = mstorch.from_numpy(X), mstorch.from_numpy(G)
    named = mstorch.ops.aten.gelu_backward(grad_output=g, self=x, approximate="tanh")
    plain = real_torch.ops.aten.gelu_backward(real_torch.from_numpy(G), real_torch.from_numpy(X), approximate="tanh")
    np.testing.assert_allclose(named.numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="missing"):
        mstorch.ops.aten.gelu_backward(g)
    with pytest.raises(NotImplementedError, match="takes the input"):
        mstorch.ops.aten.elu_backward(g, 1.0, 1.0, 1.0, True, x)
