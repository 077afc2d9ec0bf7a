"""Dropout's masks: random numbers are drawn in the memory order of the result, whose dimensions are ordered like the input's strides."""
from __future__ import annotations

import pytest

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 1),
    "reversed": lambda x: x.permute(2, 1, 0),
    "sliced": lambda x: x[:, :, ::2],
    "sliced and transposed": lambda x: x[:, :, ::2].transpose(0, 2),
    "expanded": lambda x: x[:, :1].expand(4, 6, 5),
    "half": lambda x: x.transpose(1, 2).half(),
    "channels last": lambda x: x[None].permute(0, 3, 1, 2),
    "one number": lambda x: x[0, 0, 0],
    "nothing": lambda x: x[:0].transpose(0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "alpha_dropout", "feature_alpha_dropout"])
def test_masks(name, layout, both):
    def body(t):
        x = LAYOUTS[layout](t.arange(1.0, 121.0).reshape(4, 6, 5))
        t.manual_seed(3)
        return getattr(t.nn.functional, name)(x, 0.4, training=True), t.rand(2)

    both(body, rtol=1e-3)


def test_gradients_and_in_place(both):
    def body(t):
        x = t.ones(3, 4).t().requires_grad_()
        t.nn.functional.dropout(x, 0.5).sum().backward()
        y = t.ones(3, 4)
        t.nn.functional.dropout(y.t(), 0.5, inplace=True)
        return x.grad, y

    both(body, strides=False)


def test_attention(both):
    """Dropout after an attention layer, whose result is transposed."""

    def body(t):
        t.manual_seed(0)
        layer = t.nn.TransformerEncoderLayer(8, 2, 16, 0.3, batch_first=True)
        return layer(t.randn(3, 5, 8)), t.rand(2)

    both(body, atol=1e-5)
