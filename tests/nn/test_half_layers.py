"""Layers in bfloat16 and float16 against torch."""
from __future__ import annotations

import pytest

LAYERS = {
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([[1, 0], [3, 3]]), x[0, 0]),
    "embedding bag": lambda t, x: t.nn.functional.embedding_bag(t.tensor([[1, 0], [3, 3]]), x[0, 0]),
    "nearest": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "nearest exact": lambda t, x: t.nn.functional.interpolate(x, size=(3, 5), mode="nearest-exact"),
    "bilinear": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "grid": lambda t, x: t.nn.functional.grid_sample(x, t.tensor([[[[0.5, -0.5], [0.0, 1.0]]]], dtype=x.dtype), align_corners=True),
    "conv": lambda t, x: t.nn.functional.conv2d(x, x[:, :, :2, :2]),
    "linear": lambda t, x: t.nn.functional.linear(x, x[0, 0], x[0, 0, 0]),
    "layer norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
    "batch norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "max pool": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "average pool": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "adaptive pool": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "softmax": lambda t, x: t.softmax(x, -1),
    "cross entropy": lambda t, x: t.nn.functional.cross_entropy(x[0, 0], t.tensor([0, 1, 2, 3])),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_layers(name, kind, both):
    def body(t):
        x = (t.arange(32.0).reshape(1, 2, 4, 4).sin() * 2).to(getattr(t, kind)).requires_grad_()
        result = LAYERS[name](t, x)
        result.float().square().sum().backward()
        return result, x.grad

    both(body, rtol=3e-2, atol=3e-2)
