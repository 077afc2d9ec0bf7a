"""torch.autograd.forward_ad compared with torch: the tangents of results, and the errors."""
from __future__ import annotations

import threading

import numpy as np
import pytest
import torch as real_torch
from torch.nn import attention

import mstorch

X, V = [1.0, 2.0, 3.0], [1.0, 0.0, 2.0]


def dual(t, x=X, v=V, **kind):
    return t.autograd.forward_ad.make_dual(t.tensor(x, **kind), t.tensor(v, **kind))


def apart(t, *tensors):
    return [list(t.autograd.forward_ad.unpack_dual(tensor)) for tensor in tensors]


def _in_place(t):
    v = t.tensor(V)
    d = t.autograd.forward_ad.make_dual(t.tensor(X), v)
    part = d[1:]
    d.mul_(3)
    part.add_(d[:2])
    return v, *apart(t, d, part)


def _slices(t):
    whole = t.zeros(2, 3)
    before = whole[1]
    whole[0] = dual(t)
    whole[1, 1:] = dual(t)[:2] * 2
    whole[:, 0].mul_(dual(t)[0])
    return apart(t, whole, before, whole.t(), whole[:, 1])


def _index_put(t):
    whole = dual(t).clone()
    whole[t.tensor([2, 0])] = dual(t)[:2]
    other = t.zeros(3)
    other[t.tensor([True, False, True])] = dual(t)[1:]
    other.index_put_((t.tensor([1, 1]),), dual(t)[:2], accumulate=True)
    return apart(t, whole, other)


def _constants(t):
    whole = dual(t).clone()
    view = whole[:2]
    whole[0] = 5
    zeroed = dual(t).clone().zero_()
    filled = dual(t).clone()
    filled.masked_fill_(t.tensor([True, False, False]), 2.0)
    return apart(t, whole, view, zeroed, filled)


def _late_views(t):
    x = t.zeros(4)
    first, second, alone = x[:2], x[1:3], x.detach()
    first.copy_(dual(t, [1.0, 1.0], [3.0, 4.0]))
    return apart(t, x, first, second, alone, second[0])


def _complex_views(t):
    z = dual(t, [1 + 2j, 3j], [2 - 1j, 1 + 0j])
    real = t.view_as_real(z)
    copy = z.clone()
    t.view_as_real(copy)[0].mul_(3)
    return apart(t, real, z.imag, z.real[1:], z.conj().resolve_conj(), copy, z.abs(), (z * z).angle())


def _backwards_over(t):
    x, v = t.tensor(X, requires_grad=True), t.tensor(V, requires_grad=True)
    y = t.autograd.forward_ad.make_dual(x, v).sin().mul(2)
    value, slope = t.autograd.forward_ad.unpack_dual(y)
    return value, slope, t.autograd.grad((slope * slope).sum() + value.sum(), [x, v])


def _forwards_over(t):
    x = t.tensor(X, requires_grad=True)
    d = t.autograd.forward_ad.make_dual(x, t.tensor(V))
    (plain,) = t.autograd.grad((d**3).exp().sum(), d)
    (again,) = t.autograd.grad((d**3).sum(), x, create_graph=True)
    value, slope = t.autograd.forward_ad.unpack_dual(again)
    return apart(t, plain), value, slope, t.autograd.grad(slope.sum(), x)


def _backward_drops(t):
    d = dual(t).requires_grad_()
    (d**3).sum().backward()
    return apart(t, d.grad, d)


def _modes(t):
    forward_ad = t.autograd.forward_ad
    d = dual(t)
    with t.no_grad():
        without = d * 2
    with forward_ad._set_fwd_grad_enabled(False):
        off = d * 2, forward_ad.unpack_dual(d).tangent, dual(t)
    with t.inference_mode():
        inferred = forward_ad.unpack_dual(d * 2).tangent
    return apart(t, without, off[0], off[2], d), off[1], inferred


def _expanded(t):
    row = dual(t)
    return apart(t, row.expand(2, 3) * t.ones(2, 3), (row[:, None] * row).t(), row.expand(2, 3).sum(0), row.unsqueeze(0))


def _order(t):
    x = t.autograd.forward_ad.make_dual(t.ones(2, 3).t(), t.arange(6.0).reshape(3, 2))
    return apart(t, x, x + 1, x.t()[1], x[::2])


def _unfolded(t):
    d = dual(t)
    return apart(t, *d.unbind(0), *d.split(2), *t.stack([d, d * 2]).chunk(2, 1), t.cat([d, t.ones(2)]))


def _linear_algebra(t):
    m = t.tensor([[2.0, 0.5], [0.5, 1.0]])
    d = t.autograd.forward_ad.make_dual(m, t.tensor([[0.3, -1.0], [-1.0, 0.2]]))
    return apart(t, d @ m, t.linalg.inv(d), t.linalg.det(d), t.linalg.cholesky(d), t.linalg.solve(m, d), t.linalg.eigvalsh(d))


BODIES = {
    "value": lambda t: apart(t, dual(t), dual(t) * dual(t), dual(t).exp(), 2 / dual(t), dual(t) ** 2.5),
    "broadcast": lambda t: apart(t, dual(t, 2.0, 1.0) + t.ones(2, 2), t.ones(2, 1) - dual(t), dual(t).div(t.ones(2, 1))),
    "reductions": lambda t: apart(t, dual(t).sum(), dual(t).mean(0, True), dual(t).max(), dual(t).logsumexp(0), dual(t).var(), dual(t).prod()),
    "softmax": lambda t: apart(t, dual(t).softmax(0), dual(t).log_softmax(0), t.nn.functional.layer_norm(dual(t), (3,))),
    "not differentiable": lambda t: apart(t, dual(t) > 1, dual(t).argmax(), dual(t).long(), t.zeros_like(dual(t)), dual(t).floor()),
    "cut off": lambda t: apart(t, dual(t).detach(), dual(t).data, (dual(t) * 2).detach_(), dual(t).clone(), t.tensor(V) * dual(t).detach()),
    "dtypes": lambda t: apart(t, dual(t).double(), dual(t).half().float(), dual(t) + t.ones(3, dtype=t.float64), dual(t).to(t.complex64)),
    "in place": _in_place, "slices": _slices, "index_put": _index_put, "constants": _constants, "late views": _late_views,
    "complex": _complex_views, "reverse over forward": _backwards_over, "forward over reverse": _forwards_over,
    "backward": _backward_drops, "modes": _modes, "expanded": _expanded, "order of memory": _order, "several views": _unfolded,
    "linear algebra": _linear_algebra,
    "shown": lambda t: [repr(dual(t)), repr(dual(t).requires_grad_())],
    "beyond the tensor": lambda t: apart(t, t.as_strided(t.autograd.forward_ad.make_dual(t.arange(4.0)[1:], t.tensor(V)), (2,), (1,), 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_tangents(name, both):
    def body(t):
        with t.autograd.forward_ad.dual_level():
            return BODIES[name](t)

    both(body, rtol=1e-4, atol=1e-6, strides=name != "linear algebra")


def _modules(t):
    t.manual_seed(0)
    nn = t.nn
    return {
        "mlp": (nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.LayerNorm(5), nn.Linear(5, 2, bias=False), nn.Tanh()), (4, 6)),
        "conv": (nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (2, 2, 4, 4)),
        "conv1d": (nn.Sequential(nn.Conv1d(2, 4, 3, groups=2), nn.GroupNorm(2, 4), nn.AvgPool1d(2)), (2, 2, 7)),
        "evaluated": (nn.Sequential(nn.ConvTranspose2d(2, 2, 2), nn.BatchNorm2d(2)).eval(), (1, 2, 3, 3)),
        "attention": (nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 3, 4)),
        "lstm": (nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
        "gru": (nn.GRU(3, 4), (5, 2, 3)),
    }


MODULES = ("mlp", "conv", "conv1d", "evaluated", "attention", "lstm", "gru")


def _first(output):
    return output[0] if isinstance(output, tuple) else output


@pytest.mark.parametrize("moved", ["input", "parameters", "both"])
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore:TF32 acceleration")
def test_modules(name, moved, both):
    def body(t):
        module, shape = _modules(t)[name]
        forward_ad = t.autograd.forward_ad
        x = t.randn(shape)
        with forward_ad.dual_level():
            if moved != "parameters":
                x = forward_ad.make_dual(x, t.randn(shape))
            named = {
                key: forward_ad.make_dual(p, t.randn(tuple(p.shape))) if moved != "input" else p for key, p in module.named_parameters()
            }
            return list(forward_ad.unpack_dual(_first(t.func.functional_call(module, named, (x,)))))

    # Real torch has no forward mode through the layers of its CPU library and its fused attention.
    with real_torch.backends.mkldnn.flags(enabled=False), attention.sdpa_kernel(attention.SDPBackend.MATH):
        both(body, rtol=1e-3, atol=2e-5, strides=False)


M = [[0.3, -1.2, 0.8], [1.4, 0.1, -0.6]]
SLOPES = {
    "linear": lambda f, x, w, b: f.linear(x, w, b[:2]), "matmul": lambda f, x, w, b: x @ w.T, "product": lambda f, x, w, b: x * b / w,
    "gelu": lambda f, x, w, b: f.gelu(x) + f.elu(w), "tanh": lambda f, x, w, b: (x + w).tanh(), "tan": lambda f, x, w, b: x.tan() * b,
    "power": lambda f, x, w, b: (x.abs() + 1) ** w, "root": lambda f, x, w, b: (x * x + b.exp()).sqrt(), "norm": lambda f, x, w, b: x.norm(dim=0),
    "softplus": lambda f, x, w, b: f.softplus(x) * b, "scan": lambda f, x, w, b: (x * b).cumsum(0), "largest": lambda f, x, w, b: x.exp().max(0)[0],
    "deviation": lambda f, x, w, b: (x * w).std(0), "pool": lambda f, x, w, b: f.max_pool1d((x * w)[None], 2) * b[:1],
    "convolution": lambda f, x, w, b: f.conv1d(x[None], w[:, :2][:, None].repeat(1, 2, 1)), "singular": lambda f, x, w, b: (x * w).svd()[1],
    "entries": lambda f, x, w, b: x[[1, 0, 1]] * w[:1] + b, "in place": lambda f, x, w, b: x.clone().mul_(w).add_(b),
}  # fmt: skip


@pytest.mark.parametrize("moved", ["x", "w", "b", "xwb"])
@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_tangents(name, moved, both):
    def body(t):
        forward_ad = t.autograd.forward_ad
        leaves = {
            "x": t.tensor(M, dtype=t.float64), "w": t.tensor(M, dtype=t.float64).flip(1) + 0.25, "b": t.tensor([0.5, 1.5, -0.75], dtype=t.float64),
        }  # fmt: skip
        for leaf in leaves.values():
            leaf.requires_grad_()
        with forward_ad.dual_level():
            duals = {key: forward_ad.make_dual(x, x.detach().cos()) if key in moved else x for key, x in leaves.items()}
            value, slope = forward_ad.unpack_dual(SLOPES[name](t.nn.functional, *duals.values()))
            if slope is None:
                return value.detach()
            found = t.autograd.grad((slope * slope * value).sum(), list(leaves.values()), allow_unused=True)
            return value.detach(), [t.zeros(1) if g is None or not (g != 0).any() else g for g in found]

    both(body, rtol=1e-4, atol=1e-6, strides=False)


def function(t, forward, jvp=None, setup=None, backward=None):
    parts = {"forward": forward, "jvp": jvp, "setup_context": setup, "backward": backward}
    made = type("Made", (t.autograd.Function,), {name: staticmethod(part) for name, part in parts.items() if part is not None})
    return made.apply


def _keeps(ctx, x, y):
    ctx.save_for_forward(x, y)
    ctx.save_for_backward(x, y)
    return x * y


def _product(ctx, a, b):
    x, y = ctx.saved_tensors
    return a * y + x * b


def _gradient(ctx, g):
    x, y = ctx.saved_tensors
    return g * y, g * x


def _without_zeros(ctx, x, y):
    ctx.set_materialize_grads(False)
    return _keeps(ctx, x, y)


def _product_without_zeros(ctx, a, b):
    assert b is None
    return a * ctx.saved_tensors[1]


def _dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def _marked(ctx, x):
    place = x.argmax()
    ctx.mark_non_differentiable(place)
    return x * 2, place


def _setup(ctx, inputs, output):
    ctx.save_for_forward(output)


def _over(t, backward):
    x = t.tensor(X, requires_grad=True)
    d = t.autograd.forward_ad.make_dual(x, t.tensor(V))
    y = function(t, _keeps, _product, None, backward)(d, d)
    value, slope = t.autograd.forward_ad.unpack_dual(y)
    (g,) = t.autograd.grad(y.sum(), d, create_graph=True)
    return value, slope, t.autograd.grad(slope.sum(), x, retain_graph=True), t.autograd.forward_ad.unpack_dual(g).tangent.detach()


FUNCTIONS = {
    "saved": lambda t: apart(t, function(t, _keeps, _product)(dual(t), dual(t, V, X))),
    "zeros": lambda t: apart(t, function(t, _keeps, _product)(dual(t), t.tensor(V))),
    "without zeros": lambda t: apart(t, function(t, _without_zeros, _product_without_zeros)(dual(t), t.tensor(V))),
    "a number": lambda t: apart(t, function(t, lambda ctx, x, k: x * k, lambda ctx, a, k: a * 4 if k is None else a)(dual(t), 4)),
    "two results": lambda t: apart(t, *function(t, lambda ctx, x: (x * 2, x * x), lambda ctx, a: (a * 2, a))(dual(t))),
    "marked": lambda t: apart(t, *function(t, _marked, lambda ctx, a: (a * 2, None))(dual(t))),
    "in place": lambda t: apart(t, function(t, _dirty, lambda ctx, a: a.mul_(2))(dual(t).clone())),
    "an input": lambda t: apart(t, function(t, lambda ctx, x: x, lambda ctx, a: a.view_as(a))(dual(t))),
    "a view": lambda t: apart(t, function(t, lambda ctx, x: x[1:], lambda ctx, a: a[1:])(dual(t))),
    "its result": lambda t: apart(t, function(t, lambda x: x.exp(), lambda ctx, a: a * ctx.saved_tensors[0], _setup)(dual(t))),
    "with reverse": lambda t: _over(t, _gradient),
    "without a tangent": lambda t: apart(t, function(t, lambda ctx, x: x * 2, lambda ctx, a: 1 / 0)(t.tensor(X))),
    "no jvp": lambda t: function(t, lambda ctx, x: x * 2)(dual(t)),
    "too many": lambda t: function(t, lambda ctx, x: x * 2, lambda ctx, a: (a, a))(dual(t)),
    "another shape": lambda t: function(t, lambda ctx, x: x * 2, lambda ctx, a: a.sum())(dual(t)),
    "no tensor": lambda t: function(t, lambda ctx, x: x * 2, lambda ctx, a: 3)(dual(t)),
    "tangent of an index": lambda t: function(t, _marked, lambda ctx, a: (a * 2, a))(dual(t)),
    "not in place": lambda t: function(t, _dirty, lambda ctx, a: a * 2)(dual(t).clone()),
    "no view": lambda t: function(t, lambda ctx, x: x[1:], lambda ctx, a: a[1:] * 2)(dual(t)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, both):
    def body(t):
        with t.autograd.forward_ad.dual_level():
            return FUNCTIONS[name](t)

    both(body)


def _nested(t):
    with t.autograd.forward_ad.dual_level():
        return apart(t, dual(t))


def _twice(t):
    return t.autograd.forward_ad.make_dual(dual(t), t.tensor(V))


def _leaf_in_place(t):
    d = t.autograd.forward_ad.make_dual(t.tensor(X), t.tensor(V, requires_grad=True))
    d.mul_(2)


ERRORS = {
    "nested": _nested,
    "twice": _twice,
    "shape": lambda t: t.autograd.forward_ad.make_dual(t.ones(3), t.ones(2)),
    "integers": lambda t: t.autograd.forward_ad.make_dual(t.arange(3), t.ones(3)),
    "integer tangent": lambda t: t.autograd.forward_ad.make_dual(t.ones(3), t.arange(3)),
    "expanded": lambda t: t.autograd.forward_ad.make_dual(t.ones(1).expand(3), t.tensor(V)),
    "another level": lambda t: t.autograd.forward_ad.make_dual(t.ones(3), t.ones(3), level=1),
    "leaving another level": lambda t: t.autograd.forward_ad.exit_dual_level(level=3),
    "no tensor": lambda t: t.autograd.forward_ad.unpack_dual(3),
    "leaf in place": _leaf_in_place,
    "jvp within": lambda t: t.func.jvp(t.sin, (t.ones(2),), (t.ones(2),)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name, both):
    def body(t):
        with t.autograd.forward_ad.dual_level():
            return ERRORS[name](t)

    both(body)


def test_outside(both):
    both(lambda t: t.autograd.forward_ad.unpack_dual(t.ones(2)))
    both(lambda t: t.autograd.forward_ad.make_dual(t.ones(2), t.ones(2)))
    both(lambda t: t.autograd.forward_ad.exit_dual_level())


def test_level_ends(both):
    def body(t):
        forward_ad = t.autograd.forward_ad
        assert forward_ad.enter_dual_level() == 0
        d = dual(t)
        y = d * 2
        forward_ad.exit_dual_level()
        outside = forward_ad.unpack_dual(y).tangent
        with forward_ad.dual_level():
            return outside, apart(t, y, d, forward_ad.make_dual(d, t.ones(3)) * y)

    both(body)


def test_given_tangent_is_kept(both):
    def body(t):
        with t.autograd.forward_ad.dual_level():
            v = t.tensor(V)
            d = t.autograd.forward_ad.make_dual(t.tensor(X), v)
            slope = t.autograd.forward_ad.unpack_dual(d[1:]).tangent
            return t.autograd.forward_ad.unpack_dual(d).tangent is v, slope.data_ptr() - v.data_ptr(), slope._is_view()

    both(body)


def test_out_is_refused(both):
    def body(t):
        with t.autograd.forward_ad.dual_level():
            with pytest.raises(NotImplementedError, match="Trying to use forward AD with .* out= function"):
                t.mul(dual(t), 2, out=t.empty(3))

    both(body)


def test_decorator(both):
    def body(t):
        @t.autograd.forward_ad.dual_level()
        def slope(x, v):
            return t.autograd.forward_ad.unpack_dual(t.autograd.forward_ad.make_dual(x, v).sin()).tangent

        return slope(t.tensor(X), t.tensor(V)), slope(t.tensor(V), t.tensor(X))

    both(body)


def _not_shared(t):
    d = dual(t)
    made = [d + 1, d - 1, 1 + d, d.clone(), d**1, d.reshape(1, 3).clone(), d.double(), t.where(t.tensor(True), d, d), d.relu()]
    d.mul_(5)
    made[0].mul_(2)
    return apart(t, d, *made)


def _of_what_was_unpacked(t):
    y = dual(t) * 1
    part = t.autograd.forward_ad.unpack_dual(y).primal
    before = part[1:] * 1
    part.mul_(dual(t))
    return apart(t, part, y, before)


def _turned(t):
    d = t.autograd.forward_ad.make_dual(t.ones(2, 3), t.arange(6.0).reshape(2, 3))
    d.t_()
    return apart(t, d, d[1:].unsqueeze_(0))


@pytest.mark.parametrize("body", [_not_shared, _of_what_was_unpacked, _turned])
def test_memory_of_tangents(body, both):
    def within(t):
        with t.autograd.forward_ad.dual_level():
            return body(t)

    both(within)


BORDERS = {
    "resized": lambda t: dual(t).clone().resize_(2),
    "set": lambda t: t.zeros(3).set_(dual(t)),
    "sparse embedding": lambda t: apart(t, t.nn.functional.embedding(t.tensor([1, 0]), dual(t)[:, None], sparse=True)),
    "not there": lambda t: t.nn.functional.ctc_loss(
        dual(t).expand(4, 3).log_softmax(1)[:, None], t.tensor([[1]]), t.tensor([4]), t.tensor([1])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BORDERS)
def test_borders(name, both):
    def body(t):
        with t.autograd.forward_ad.dual_level():
            try:
                return BORDERS[name](t)
            except NotImplementedError as error:
                return str(error)[:30]

    both(body, strides=False)


def test_compiled_functions_have_tangents():
    x, v = mstorch.tensor(X), mstorch.tensor(V)
    run = mstorch.compile(lambda x: x.sin() * 2)
    run(x)
    with mstorch.autograd.forward_ad.dual_level():
        slope = mstorch.autograd.forward_ad.unpack_dual(run(mstorch.autograd.forward_ad.make_dual(x, v))).tangent
    assert np.allclose(slope.numpy(), 2 * np.cos(X) * V)


def test_tangents_of_threads():
    module = mstorch.nn.Sequential(mstorch.nn.Linear(3, 4), mstorch.nn.Tanh(), mstorch.nn.Linear(4, 2))
    inputs = [mstorch.randn(3) for _ in range(4)]
    wanted = [mstorch.func.jvp(module, (x,), (x.cos(),))[1].detach().numpy() for x in inputs]
    wrong = []

    def work(number):
        for _ in range(20):
            found = mstorch.func.jvp(module, (inputs[number],), (inputs[number].cos(),))[1]
            if not np.allclose(found.detach().numpy(), wanted[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _layer(kind):
    def run(t, x):
        t.manual_seed(0)
        return getattr(t.nn, kind)(2, 3).double()(x)[0]

    return run


TWICE = {
    "erfinv": lambda t, x: (x * 0.2).erfinv(), "prod": lambda t, x: x.prod(0), "scan": lambda t, x: x.logcumsumexp(0) + x.cumprod(0),
    "softplus": lambda t, x: t.nn.functional.softplus(x), "lgamma": lambda t, x: (x.abs() + 1).lgamma(), "LSTM": _layer("LSTM"),
    "GRU": _layer("GRU"), "pool": lambda t, x: t.nn.functional.avg_pool1d(x.exp(), 2), "norm": lambda t, x: x.norm(3),
    "inverse": lambda t, x: t.linalg.inv(x.transpose(-1, -2) @ x), "deviation": lambda t, x: x.std(0), "power": lambda t, x: (x.abs() + 1) ** x,
    "parts": lambda t, x: t.cat([part * part for part in x.unbind(0)]), "entries": lambda t, x: x[t.tensor([0, 0])] ** 3,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("seed", ["plain", "dual"])
@pytest.mark.parametrize("name", TWICE)
def test_tangents_of_gradients(name, seed, both):
    def body(t):
        forward_ad = t.autograd.forward_ad
        x = t.linspace(-1, 1.3, 12, dtype=t.float64).reshape(3, 2, 2).requires_grad_()
        before = TWICE[name](t, x)
        with forward_ad.dual_level():
            d = forward_ad.make_dual(x, x.detach().cos())
            start = before.detach().sin()
            start = forward_ad.make_dual(start, start.exp()) if seed == "dual" else start
            (of_dual,) = t.autograd.grad(TWICE[name](t, d), d, start)
            of_plain = forward_ad.unpack_dual(t.autograd.grad(before, x, start)[0])
            return list(forward_ad.unpack_dual(of_dual)), [of_plain.primal, of_plain.tangent if seed == "dual" else None]

    with real_torch.backends.mkldnn.flags(enabled=False):
        both(body, rtol=1e-4, atol=1e-6, strides=False)


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "poisson_nll_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_have_tangents_of_both_operands(both, name, reduction):
    def body(t):
        x, y, u, v = (t.sin(t.arange(12.0) * k).reshape(3, 4) for k in (1, 2, 3, 4))
        loss = getattr(t.nn.functional, name)
        return t.func.jvp(lambda a, b: loss(a, b, reduction=reduction), (x, y), (u, v))

    both(body)
