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


CALLS = {
    "layer": lambda t, x, p: t.nn.Dropout(p)(x), "in evaluation": lambda t, x, p: t.nn.Dropout(p).eval()(x), "operator": lambda t, x, p: t.dropout(x, p, True),
    "by name": lambda t, x, p: t.nn.functional.dropout(input=x, p=p, training=True), "with its mask": lambda t, x, p: t.native_dropout(x, p, True)[0],
    "with a mask of ones": lambda t, x, p: t.native_dropout(x, p, False)[0],
}  # fmt: skip


@pytest.mark.parametrize("p", [0.0, 0, 0.3, 1.0, 1])
@pytest.mark.parametrize("jagged", [True, False], ids=["jagged", "strided"])
@pytest.mark.parametrize("call", CALLS)
def test_how_many_random_numbers_are_drawn(both, call, jagged, p):
    def body(t):
        values = t.tensor([[1.0, -2.0], [float("inf"), float("nan")], [3.0, 4.0]], requires_grad=True)
        x = t.nested.nested_tensor_from_jagged(values, t.tensor([0, 1, 3])) if jagged else values
        t.manual_seed(3)
        found = CALLS[call](t, x, p)
        following = t.rand(2)
        found = found.values() if jagged else found
        found.nan_to_num(0, 0, 0).sum().backward()
        return found.detach(), values.grad, following

    both(body)
