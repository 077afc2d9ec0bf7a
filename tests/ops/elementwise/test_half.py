"""Rounding in half precision: torch's values, mostly to the last bit."""
from __future__ import annotations

import numpy as np
import pytest

HALVES = ["bfloat16", "float16"]


def drawn(t, kind, *shape, seed=0):
    return t.tensor(np.random.RandomState(seed).randn(*shape).astype(np.float32) * 3).to(getattr(t, kind))


SUMS = {
    "baddbmm": lambda t, a, b, i: t.baddbmm(i, a, b, beta=0.2, alpha=0.6),
    "addbmm": lambda t, a, b, i: t.addbmm(i[0], a, b, beta=0.2, alpha=0.6),
    "addr": lambda t, a, b, i: t.addr(i[0], a[0, :, 0], b[0, 0], beta=0.2, alpha=0.6),
    "addr of integers": lambda t, a, b, i: t.addr(i[0].int(), a[0, :, 0].int(), b[0, 0].int(), beta=3, alpha=2),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("kind", HALVES)
def test_sums_of_products(name, kind, both):
    def body(t):
        return SUMS[name](t, drawn(t, kind, 3, 5, 4), drawn(t, kind, 3, 4, 6, seed=1), drawn(t, kind, 3, 5, 6, seed=2))

    both(body, rtol=0, atol=0)


LAYERS = {
    "linear": lambda t, x: t.nn.functional.interpolate(x[:, :, 0, 0], size=11, mode="linear"),
    "linear corners": lambda t, x: t.nn.functional.interpolate(x[:, :, 0, 0], size=4, mode="linear", align_corners=True),
    "trilinear": lambda t, x: t.nn.functional.interpolate(x, size=(7, 3, 5), mode="trilinear"),
    "group norm": lambda t, x: t.nn.functional.group_norm(x, 2),
    "group norm scaled": lambda t, x: t.nn.functional.group_norm(x, 2, x[0, :, 0, 0, 0], x[0, :, 1, 1, 1]),
    "group norm mixed": lambda t, x: t.nn.functional.group_norm(x, 2, x[0, :, 0, 0, 0].float(), x[0, :, 1, 1, 1].float()),
    "instance norm": lambda t, x: t.nn.functional.instance_norm(x[:, :, 0, 0], None, None, x[0, :, 0, 0, 0], x[0, :, 1, 1, 1]),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("kind", HALVES)
def test_layers(name, kind, both):
    # Sums in single precision in another order differ by one or two units in the last place.
    rtol = {"trilinear": 1e-3, "instance norm": 1.6e-2}.get(name, 0)
    both(lambda t: LAYERS[name](t, drawn(t, kind, 2, 4, 3, 4, 6)), rtol=rtol, atol=0)


def test_bilinear_rounds_once(both):
    both(lambda t: t.nn.functional.interpolate(drawn(t, "bfloat16", 2, 3, 5, 4), size=(7, 6), mode="bilinear"), rtol=8e-3, atol=0)


def test_gradients(both):
    """A cast within a layer does not cut its gradient."""

    def body(t):
        x = drawn(t, "bfloat16", 2, 4, 3, 4, 6).requires_grad_()
        for name in ("trilinear", "group norm scaled", "instance norm"):
            LAYERS[name](t, x).float().square().sum().backward()
        return x.grad

    both(body, rtol=3e-2, atol=0.5)


def test_without_kernel(both):
    both(lambda t: t.nn.functional.interpolate(drawn(t, "float16", 2, 3, 5, 4), size=3, mode="bilinear", antialias=True))


def test_checks_of_values(both):
    """Operations that check values accept bfloat16, which NumPy cannot compare."""

    def body(t):
        x = drawn(t, "bfloat16", 4, 5)
        t.manual_seed(1)
        return t.nn.functional.rrelu(x, training=True), t.nn.functional.gaussian_nll_loss(x, x * 2, x.abs() + 1)

    both(body, rtol=8e-3)
    both(lambda t: t.nn.functional.gaussian_nll_loss(*[drawn(t, "bfloat16", 4, 5)] * 3))


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 4, 100), (2, 1), (0, 3)])
def test_log_softmax_rounds_the_sum(both, shape, dtype):
    """Along the last dimension torch rounds the sum of exponentials and its logarithm, too."""

    def body(torch):
        torch.manual_seed(0)
        x = (torch.randn(shape) * 4).to(getattr(torch, dtype)).requires_grad_()
        found = x.log_softmax(-1)
        return found, torch.autograd.grad(found[..., :1].sum(), x)[0]

    both(body, rtol=0, atol=0)
