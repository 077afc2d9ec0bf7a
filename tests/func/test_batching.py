"""vmap runs its function once: programs, batching rules and errors compared with torch, and the functions that fall back to a loop."""
from __future__ import annotations

import warnings

import pytest

import mstorch
from mstorch.func._batched_loop import loops
from tests import batching
from tests.databases import outcome


def some(t, *shape):
    count = 1
    for length in shape:
        count *= length
    return t.linspace(-1, 1, count).sin().reshape(shape)


def mlp(t):
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 2))


def frozen(net):
    return {name: p.detach() for name, p in net.named_parameters()}


def ensemble(t):
    nets = [mlp(t) for _ in range(3)]
    params, buffers = t.func.stack_module_state(nets)
    out = t.vmap(lambda p, b, x: t.func.functional_call(nets[0], (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, some(t, 5, 3))
    (out**2).sum().backward()
    return out, [p.grad for p in params.values()]


def per_sample(t):
    net = t.nn.Sequential(t.nn.Conv2d(1, 3, 3, padding=1), t.nn.GroupNorm(1, 3), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.Linear(27, 4))

    def loss(p, x, y):
        return t.nn.functional.cross_entropy(t.func.functional_call(net, p, (x[None],)), y[None])

    for i, p in enumerate(net.parameters()):
        p.data = some(t, *p.shape) * (i + 1)
    return t.vmap(t.func.grad(loss), in_dims=(None, 0, 0))(frozen(net), some(t, 5, 1, 6, 6), t.tensor([0, 1, 2, 3, 0]))


def tangent_kernel(t):
    net = mlp(t)
    rows = t.vmap(t.func.jacrev(lambda p, x: t.func.functional_call(net, p, (x[None],))[0]), (None, 0))(frozen(net), some(t, 4, 3))
    return [t.einsum("Naf,Mbf->NMab", row.flatten(2), row.flatten(2)) for row in rows.values()]


def outside_and_inside(t):
    def f(w):
        return t.vmap(t.func.grad(lambda x: (w * x).sin().sum()))(some(t, 4, 3)).pow(2).sum()

    return t.func.grad(f)(some(t, 3)), t.func.hessian(f)(some(t, 3))


def pulled_inside(t):
    def g(x, v):
        value, pull = t.func.vjp(lambda x: (x.sin(), x.sum()), x)
        return pull((v, v.sum()))[0], value[0], t.vmap(pull)((t.eye(3), t.ones(3)))[0]

    return t.vmap(g)(some(t, 4, 3), some(t, 4, 3).cos())


def pushed_inside(t):
    def g(x, v):
        return t.func.jvp(lambda x: x.sin() * x.sum(), (x,), (v,))

    x, v = some(t, 4, 3), some(t, 4, 3).cos()
    return t.vmap(g)(x, v), t.vmap(g, in_dims=(None, 0))(x[0], v), t.vmap(g, in_dims=(0, None))(x, v[0])


def writes(t):
    def f(x):
        y = x.clone()
        y[0] = 5
        y[1:] += x[:-1]
        y.mul_(2).clamp_(max=6)
        y.view(-1)[::2].zero_()
        y[t.tensor([0, 2])] = x[1]
        return y

    return t.vmap(f)(some(t, 4, 3)), t.vmap(f, in_dims=1, out_dims=1)(some(t, 3, 4)), t.vmap(t.func.grad(lambda x: f(x).sum()))(some(t, 4, 3))


def places(t):
    x, i = some(t, 3, 4, 5), t.tensor([[0, 1], [2, 3], [1, 1]])
    index = (
        lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[i, i + 1], lambda x, i: x[i, :, None], lambda x, i: x[0, i],
        lambda x, i: x[[0, 2], 1:3], lambda x, i: x[..., t.tensor([1, 0])], lambda x, i: x[None, i, 0],
        lambda x, i: x.index_put((i,), t.ones(5), accumulate=True), lambda x, i: x.gather(0, i[None].expand(2, 2)),
    )  # fmt: skip
    return [t.vmap(f)(x, i) for f in index], [t.vmap(f, in_dims=(None, 0))(x[0], i) for f in index], t.vmap(lambda x: x[0])(x)


def dtypes(t):
    a, b = t.tensor([1, 2, 3]), t.tensor([1.0, 2.0, 3.0], dtype=t.float64)
    return [
        t.vmap(lambda x: x + 1.5)(a), t.vmap(lambda x, y: x + y)(a, b), t.vmap(lambda x: x * t.ones(2))(b), t.vmap(lambda x: x / 2)(a),
        t.vmap(lambda x: t.ones(2, dtype=t.int64) * x)(b), t.vmap(lambda x: x + t.tensor(1))(a.int()), t.vmap(lambda x: x > t.tensor([0, 5]))(b),
    ]  # fmt: skip


def layers(t):
    net = t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    for p in net.parameters():
        p.data = some(t, *p.shape)
    norm = t.nn.BatchNorm1d(3, track_running_stats=False)
    return t.vmap(net)(some(t, 2, 3, 5, 4)), t.vmap(norm)(some(t, 2, 4, 3)), t.vmap(t.nn.LayerNorm(4))(some(t, 2, 4))


def odd_calls(t):
    x, y = some(t, 4, 3), some(t, 3, 5)
    return [
        t.vmap(lambda a: a.sum().flatten())(x), t.vmap(lambda a: a.sum().cumsum(0))(x), t.vmap(lambda a: t.func.rearrange(a, "b -> b 1"))(x),
        t.vmap(lambda a: a.diff(prepend=t.ones(2)))(x), t.vmap(lambda a: t.masked_fill(a, a > 0, a[0]))(x),
        t.vmap(lambda a: t.linalg.matrix_rank(t.outer(a, a), tol=a[0].abs()))(x), t.vmap(lambda a: sum(a))(x),
        t.vmap(t.lerp, in_dims=(0, None, 0))(x, x[0], x[:, 0]), t.vmap(lambda a: t.quantile(a, t.tensor([0.1, 0.5])))(y),
        t.vmap(lambda a: a.fill_(a[1]))(x.clone()), t.vmap(lambda a: a * 2 + a.sum())(t.ones(4, 3, device="meta")).shape,
        t.func.grad(lambda v: t.vmap(lambda a: t.masked_fill(a, a > 0, v))(x).sum())(t.ones(())),
    ]  # fmt: skip


def whole_tensors(t):
    def f(a, b, c):
        return (a * b).sum() + c

    return t.vmap(t.vmap(t.vmap(f, (0, None, None)), (None, 0, None)), (None, None, 0))(some(t, 2, 5), some(t, 3, 5), some(t, 4))


PROGRAMS = (
    ensemble, per_sample, tangent_kernel, outside_and_inside, pulled_inside, pushed_inside, writes, places, dtypes, layers, odd_calls, whole_tensors,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_programs(program, both):
    both(program, strides=False, rtol=1e-3, atol=1e-4)


def test_the_function_runs_once():
    calls = []
    assert mstorch.vmap(lambda x: calls.append(x) or x * 2)(mstorch.ones(7, 2)).shape == (7, 2)
    assert len(calls) == 1


def test_usual_networks_need_no_loop():
    loops.clear()
    per_sample(mstorch)
    ensemble(mstorch)
    assert not loops


class Scaled:
    """Return a Function of either library."""

    @staticmethod
    def forward(x, y, k):
        return x * y * k, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.k = inputs[2]

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y * ctx.k + h, g * x * ctx.k + h, None


def _function(t, **more):
    return type("Scaled", (Scaled, t.autograd.Function), more)


def test_functions_with_a_generated_rule(both):
    def body(t):
        own = _function(t, generate_vmap_rule=True)
        a, b = some(t, 2, 3).requires_grad_(), some(t, 3).requires_grad_()
        out = t.vmap(own.apply, in_dims=(0, None, None))(a, b, 3.0)
        (out[0].sum() + 2 * out[1].sum()).backward()
        inside = t.vmap(t.func.grad(lambda x, y: own.apply(x, y, 2.0)[0].sum(), argnums=(0, 1)), (0, None))(a.detach(), b.detach())
        nested = t.vmap(t.vmap(own.apply, (None, 0, None)), (0, None, None))(a.detach(), a.detach(), 3.0)
        return out, a.grad, b.grad, inside, nested

    both(body, strides=False)


def test_functions_with_a_rule_of_their_own(both):
    def body(t):
        seen = []

        def vmap(info, in_dims, x, y, k):
            seen.append((*info, in_dims))
            return (x.movedim(in_dims[0], 0) * y * k, x.movedim(in_dims[0], 0)), (0, 0)

        own = _function(t, vmap=staticmethod(vmap))
        return t.vmap(own.apply, in_dims=(1, None, None), randomness="same")(some(t, 3, 2), some(t, 3), 2.0), str(seen)

    both(body, strides=False)


FUNCTIONS = {
    "neither": lambda t: t.vmap(_function(t).apply)(some(t, 2), some(t, 2), some(t, 2)),
    "two": lambda t: t.vmap(_function(t, generate_vmap_rule=True, vmap=staticmethod(len)).apply)(some(t, 2), some(t, 2), some(t, 2)),
    "one return": lambda t: t.vmap(_function(t, vmap=staticmethod(lambda *a: a[2])).apply)(some(t, 2), some(t, 2), some(t, 2)),
    "old": lambda t: t.vmap(type("Old", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x)}).apply)(some(t, 2)),
    "old in grad": lambda t: t.func.grad(type("Old", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x)}).apply)(t.ones(())),
}


def into(t, write):
    def f(x):
        target = t.zeros(3)
        write(target, x)
        return target

    return t.vmap(f)(some(t, 2, 3))


def escaped(t):
    held = []
    t.vmap(lambda x: held.append(x) or x)(some(t, 2))
    return held[0].sin()


def mapped(body):
    return lambda t: t.vmap(lambda x: body(t, x))(some(t, 2, 3))


REFUSALS = {
    **FUNCTIONS,
    "item": mapped(lambda t, x: x.sum().item()),
    "float": mapped(lambda t, x: float(x[0])),
    "if": mapped(lambda t, x: x if x.sum() > 0 else -x),
    "in": mapped(lambda t, x: x if 1 in x else -x),
    "nonzero": mapped(lambda t, x: x.nonzero()),
    "where": mapped(lambda t, x: t.where(x > 0)[0]),
    "mask": mapped(lambda t, x: x[x > 0]),
    "masked_select": mapped(lambda t, x: x.masked_select(x > 0)),
    "write by mask": mapped(lambda t, x: x.clone().__setitem__(x > 0, 0.0)),
    "unique": mapped(lambda t, x: t.unique(x)),
    "equal": mapped(lambda t, x: t.equal(x, x)),
    "allclose": mapped(lambda t, x: t.allclose(x, x)),
    "numpy": mapped(lambda t, x: x.numpy()),
    "data": mapped(lambda t, x: x.data),
    "backward": mapped(lambda t, x: x.sum().backward()),
    "a leaf": mapped(lambda t, x: x.requires_grad_()),
    "autograd.grad": lambda t: t.vmap(lambda x: t.autograd.grad(x.sum(), x)[0])(some(t, 2, 3).requires_grad_()),
    "copy_": lambda t: into(t, lambda y, x: y.copy_(x)),
    "setitem": lambda t: into(t, lambda y, x: y.__setitem__(0, x[0])),
    "mul_": lambda t: into(t, lambda y, x: y.mul_(x)),
    "pow_": lambda t: into(t, lambda y, x: y.pow_(x)),
    "scatter_": lambda t: into(t, lambda y, x: y.scatter_(0, t.tensor([0]), x[:1])),
    "index_put_": lambda t: into(t, lambda y, x: y.index_put_((t.tensor([0]),), x[:1])),
    "out": lambda t: into(t, lambda y, x: t.add(x, 1, out=y)),
    "random in place": lambda t: t.vmap(lambda x: t.zeros(3).normal_() + x, randomness="different")(some(t, 2, 3)),
    "same with values": lambda t: t.vmap(t.bernoulli, randomness="same")(some(t, 2, 3).abs()),
    "dropout": mapped(lambda t, x: t.nn.functional.dropout(x)),
    "dim": mapped(lambda t, x: x.sum(1)),
    "transpose": mapped(lambda t, x: x.transpose(0, 1)),
    "statistics": lambda t: t.vmap(t.nn.BatchNorm1d(3))(some(t, 2, 4, 3)),
    "memory format": mapped(lambda t, x: x.is_contiguous(memory_format=t.channels_last)),
    "escaped": escaped,
    "a leaf in grad": lambda t: t.func.grad(lambda x: x.requires_grad_().sum())(some(t, 3)),
}


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_refusals(name, both):
    both(lambda t: REFUSALS[name](t))


def test_gradients_for_mapped_gradients(both):
    def body(t):
        x = some(t, 3).requires_grad_()
        y = x.sin() * x.sum()
        rows = t.vmap(lambda v: t.autograd.grad(y, x, v, retain_graph=True)[0])(t.eye(3))
        return rows, t.autograd.grad(y, x, t.eye(3), is_grads_batched=True)

    both(body, strides=False)


def test_what_is_seen_of_a_mapped_tensor(both):
    def body(t):
        seen = []

        def look(x):
            seen.append((repr(x), x.shape, x.stride(), x.dim(), x.is_leaf, x.requires_grad, len(x), x.numel(), x.size(0), x.is_contiguous()))
            seen.append((t.func.debug_unwrap(x), t.is_floating_point(x), t.Tensor.dim(x), t.numel(x), isinstance(x, t.Tensor)))
            return x

        t.vmap(t.vmap(look, in_dims=1), in_dims=1)(some(t, 2, 3, 4))
        return seen

    both(body)


def test_calls_without_a_rule(both):
    def body(t):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = t.vmap(lambda x: t.histc(x, 3, -1, 1))(some(t, 2, 5))
        forced = t._C._functorch._is_vmap_fallback_enabled()
        t._C._functorch._set_vmap_fallback_enabled(False)
        try:
            t.vmap(lambda x: t.histc(x, 3, -1, 1))(some(t, 2, 5))
        except RuntimeError as error:
            words = str(error)
        finally:
            t._C._functorch._set_vmap_fallback_enabled(True)
        return found, forced, words, [str(one.message).partition(" (")[0] for one in caught]

    both(body)


def test_a_generator_says_where_it_went_on(both):
    both(lambda t: (lambda g: g.set_state(g.get_state()) is g)(t.Generator()))


CHECKS = batching.items()
# It computes gradients of mapped tensors, through a node of its own.
KNOWN = {"max_pool2d_with_indices_backward"}


@pytest.mark.parametrize("start", range(8))
def test_operators(start):
    names = [name for name in list(CHECKS)[start * 9 :: 72] if name not in KNOWN]
    wrong = {name: what for name in names if (what := outcome(CHECKS[name]))}
    assert not wrong
