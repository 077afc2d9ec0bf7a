"""Third derivatives: a Hessian-vector product as ``jvp`` of ``grad``, and ``grad`` three times, compared with torch."""
from __future__ import annotations

import pytest

W = [[0.3, -0.6, 0.9], [1.1, 0.2, -0.4]]


def _f(t):
    return t.nn.functional


FUNCTIONS = {
    "mul": lambda t, b, w: ((w * b) ** 3).sum(),
    "add": lambda t, b, w: ((w + b) ** 3).sum(),
    "sub": lambda t, b, w: ((w - b) ** 3).sum(),
    "div": lambda t, b, w: ((w / b) ** 3).sum(),
    "reflected": lambda t, b, w: (1 / (b * b + 1)).pow(3).sum(),
    "where": lambda t, b, w: t.where(w > 0, b**3, b**2).sum(),
    "maximum": lambda t, b, w: t.maximum(w, b).pow(3).sum(),
    "linear": lambda t, b, w: _f(t).linear(w, t.ones(3, 3), b).pow(3).sum(),
    "expand": lambda t, b, w: (b.expand(2, 3) * w).pow(3).sum(),
    "mean": lambda t, b, w: (b.mean() * b).pow(3).sum(),
    "keepdim": lambda t, b, w: (b.sum(0, keepdim=True) * b).pow(3).sum(),
    "centred": lambda t, b, w: (w * b - (w * b).mean(1, True)).pow(3).sum(),
    "softmax": lambda t, b, w: t.softmax(w * b, 1).pow(2).sum(),
    "log_softmax": lambda t, b, w: t.log_softmax(w * b, 1).pow(2).sum(),
    "cross entropy": lambda t, b, w: _f(t).cross_entropy(w * b, t.tensor([0, 2])),
    "matmul": lambda t, b, w: (w @ b).pow(3).sum(),
    "mm": lambda t, b, w: (w @ b[:, None]).pow(3).sum(),
    "bmm": lambda t, b, w: t.bmm(w[None], b[None, :, None]).pow(3).sum(),
    "outer": lambda t, b, w: t.outer(b, b).pow(3).sum(),
    "einsum": lambda t, b, w: t.einsum("ij,j->i", w, b).pow(3).sum(),
    "attention": lambda t, b, w: _f(t).scaled_dot_product_attention(b[None, :, None], b[None, :, None], b[None, :, None]).sum(),
    "tanh": lambda t, b, w: b.tanh().sum(),
    "sigmoid": lambda t, b, w: b.sigmoid().pow(2).sum(),
    "gelu": lambda t, b, w: _f(t).gelu(b).pow(2).sum(),
    "silu": lambda t, b, w: _f(t).silu(b).pow(2).sum(),
    "softplus": lambda t, b, w: _f(t).softplus(b).pow(2).sum(),
    "elu": lambda t, b, w: _f(t).elu(b).pow(3).sum(),
    "cat": lambda t, b, w: t.cat([b, b * 2]).pow(3).sum(),
    "stack": lambda t, b, w: t.stack([b, b.sin()], 1).pow(3).sum(),
    "index": lambda t, b, w: b[[0, 0, 2]].pow(3).sum(),
    "slice": lambda t, b, w: b[1:].pow(3).sum(),
    "gather": lambda t, b, w: b.gather(0, t.tensor([0, 0, 1])).pow(3).sum(),
    "transpose": lambda t, b, w: (b[None] * w).T.pow(3).sum(),
    "pad": lambda t, b, w: _f(t).pad(b, (1, 1)).pow(3).sum(),
    "flip": lambda t, b, w: (b.flip(0) * b).pow(2).sum(),
    "conv": lambda t, b, w: t.conv1d(b[None, None], t.ones(1, 1, 2)).pow(3).sum(),
    "conv weight": lambda t, b, w: t.conv1d(w[:, None], b[None, None, :2]).pow(3).sum(),
    "norm": lambda t, b, w: b.norm() ** 3,
    "prod": lambda t, b, w: b.prod() ** 2 + (w * b).prod(1, keepdim=True).sum() + (w * b).prod(0).pow(2).sum(),
    "cumsum": lambda t, b, w: b.cumsum(0).pow(3).sum(),
    "logsumexp": lambda t, b, w: b.logsumexp(0) ** 2,
    "std": lambda t, b, w: b.std() ** 3,
    "exp": lambda t, b, w: (b.exp() * b).sum(),
    "log": lambda t, b, w: b.abs().log().pow(2).sum(),
    "sqrt": lambda t, b, w: b.abs().sqrt().pow(3).sum(),
    "rsqrt": lambda t, b, w: ((b * b + 1).mean(0, True).rsqrt() * b).pow(3).sum(),
    "pow": lambda t, b, w: b.abs().pow(b).sum() + (b * b + 1).pow(1.5).sum(),
    "clamp": lambda t, b, w: b.clamp(-1, 1).pow(3).sum(),
    "layer norm": lambda t, b, w: _f(t).layer_norm(w * b, (3,), b, b).pow(3).sum(),
    "batch norm": lambda t, b, w: _f(t).batch_norm(t.cat([w, w * w * 3]) * b, None, None, training=True).pow(3).sum(),
}


def _inputs(t):
    return t.tensor([0.5, -1.25, 2.0]), t.tensor(W), t.tensor([0.3, 0.7, -1.0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessian_times_direction(name, both):
    def body(t):
        b, w, v = _inputs(t)
        return t.func.jvp(t.func.grad(lambda b: FUNCTIONS[name](t, b, w)), (b,), (v,))

    both(body, strides=False, rtol=1e-3, atol=1e-3)


# torch's third derivatives of layer_norm and batch_norm are wrong; a composition in torch gives mstorch's.
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("layer norm", "batch norm")])
def test_grad_three_times(name, both):
    def body(t):
        b, w, v = _inputs(t)
        first = t.func.grad(lambda b: FUNCTIONS[name](t, b, w))
        second = t.func.grad(lambda b: (first(b) * v).sum())
        return t.func.grad(lambda b: (second(b) * v).sum())(b)

    both(body, strides=False, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("layer norm", "batch norm")])
def test_autograd_three_times(name, both):
    def body(t):
        b, w, v = _inputs(t)
        b.requires_grad_()
        (first,) = t.autograd.grad(FUNCTIONS[name](t, b, w), b, create_graph=True)
        (second,) = t.autograd.grad((first * v).sum(), b, create_graph=True)
        third = t.autograd.grad((second * v).sum(), b) if second.requires_grad else ()
        return first.detach(), second.detach(), third

    both(body, strides=False, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["layer norm", "batch norm"])
@pytest.mark.parametrize("plain", [False, True])
def test_norms_against_a_composition(name, plain):
    import mstorch as t

    def composed(b, w):
        if name == "layer norm":
            x, dim = w * b, 1
        else:
            x, dim = t.cat([w, w * w * 3]) * b, 0
        apart = x - x.mean(dim, True)
        y = apart * (apart.square().mean(dim, True) + 1e-5).rsqrt()
        return ((y * b + b) if name == "layer norm" else y).pow(3).sum()

    b, w, v = _inputs(t)

    def third(function):
        if plain:
            leaf = b.clone().requires_grad_()
            (one,) = t.autograd.grad(function(leaf, w), leaf, create_graph=True)
            (two,) = t.autograd.grad((one * v).sum(), leaf, create_graph=True)
            return t.autograd.grad((two * v).sum(), leaf)[0]
        first = t.func.grad(lambda b: function(b, w))
        second = t.func.grad(lambda b: (first(b) * v).sum())
        return t.func.grad(lambda b: (second(b) * v).sum())(b)

    found, wanted = third(lambda b, w: FUNCTIONS[name](t, b, w)), third(composed)
    assert t.allclose(found, wanted, rtol=1e-3, atol=1e-3)


def test_running_statistics():
    """An instance norm in training updates its running statistics once within a transform."""
    import mstorch as t

    x = t.randn(4, 3)
    x = x.reshape(1, 3, 4)
    inside, outside = t.nn.InstanceNorm1d(3, track_running_stats=True), t.nn.InstanceNorm1d(3, track_running_stats=True)
    t.func.grad(lambda x: inside(x).pow(3).sum())(x)
    outside(x)
    assert t.allclose(inside.running_mean, outside.running_mean) and t.allclose(inside.running_var, outside.running_var)
