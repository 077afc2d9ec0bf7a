"""torch.func's derivatives against torch."""
from __future__ import annotations

import pytest

X = [0.5, -1.25, 2.0]
W = [[0.3, -0.6, 0.9], [1.1, 0.2, -0.4]]


def x_of(t):
    return t.tensor(X)


DERIVATIVES = {
    "grad": lambda t: t.func.grad(lambda x: (x.sin() * x).sum())(x_of(t)),
    "grad of grad": lambda t: t.func.grad(t.func.grad(lambda x: x**4))(t.tensor(1.5)),
    "grad of grad of grad": lambda t: t.func.grad(t.func.grad(t.func.grad(t.sin)))(t.tensor(1.5)),
    "argnums": lambda t: t.func.grad(lambda a, b: (a * b * b).sum(), argnums=(1, 0))(x_of(t), x_of(t) + 1),
    "last": lambda t: t.func.grad(lambda a, b: (a * b * b).sum(), argnums=-1)(x_of(t), x_of(t) + 1),
    "aux": lambda t: t.func.grad(lambda a: (a.sum(), {"b": a * 2}), has_aux=True)(x_of(t)),
    "value": lambda t: t.func.grad_and_value(lambda a: a.exp().sum())(x_of(t)),
    "value and aux": lambda t: t.func.grad_and_value(lambda a: (a.exp().sum(), a * 3), has_aux=True)(x_of(t)),
    "trees": lambda t: t.func.grad(lambda p, k: (p["w"] * k).sum() + p["b"][0])({"w": x_of(t), "b": [t.tensor(2.0)]}, 3.0),
    "keywords": lambda t: t.func.grad(lambda a, *, b: (a * b).sum())(x_of(t), b=x_of(t) * 2),
    "closure": lambda t: t.func.grad(lambda y: t.func.grad(lambda x: (x**3 * y).sum())(x_of(t)).sum())(x_of(t) + 1),
    "outer product": lambda t: t.func.grad(lambda x: t.func.grad(lambda y: (x * y**2).sum())(x).sum())(x_of(t)),
    "unused": lambda t: t.func.grad(lambda a, b: a.sum(), argnums=(0, 1))(x_of(t), x_of(t)),
    "in place": lambda t: t.func.grad(lambda a: a.clone().mul_(2).add_(a).sum())(x_of(t)),
    "detached": lambda t: t.func.grad(lambda a: (a.detach() * a).sum())(x_of(t)),
    "no_grad within": lambda t: t.func.grad(lambda a: (_without(t, a) * a).sum())(x_of(t)),
    "jacrev": lambda t: t.func.jacrev(lambda a: t.tensor(W) @ a.sin())(x_of(t)),
    "jacfwd": lambda t: t.func.jacfwd(lambda a: t.tensor(W) @ a.sin())(x_of(t)),
    "jacrev of a tree": lambda t: t.func.jacrev(lambda a, b: {"p": a * b, "q": (b.sum(),)}, argnums=(0, 1))(x_of(t), x_of(t) + 1),
    "jacfwd of a tree": lambda t: t.func.jacfwd(lambda a, b: {"p": a * b, "q": (b.sum(),)}, argnums=(0, 1))(x_of(t), x_of(t) + 1),
    "jacrev aux": lambda t: t.func.jacrev(lambda a: (a.sin(), a.cos()), has_aux=True)(x_of(t)),
    "jacfwd aux": lambda t: t.func.jacfwd(lambda a: (a.sin(), a.cos()), has_aux=True)(x_of(t)),
    "jacrev of jacrev": lambda t: t.func.jacrev(t.func.jacrev(lambda a: a.sin() * a.sum()))(x_of(t)),
    "jacfwd of jacfwd": lambda t: t.func.jacfwd(t.func.jacfwd(lambda a: a.sin() * a.sum()))(x_of(t)),
    "chunks": lambda t: t.func.jacrev(t.sin, chunk_size=2)(x_of(t)),
    "hessian": lambda t: t.func.hessian(lambda a: (a**3).sum() * a.prod())(x_of(t)),
    "hessian of two": lambda t: t.func.hessian(lambda a, b: (a**2 * b).sum(), argnums=(0, 1))(x_of(t), x_of(t) + 1),
    "vjp": lambda t: _pull(t, lambda a, b: (a * b, (a.sum(), {"c": b**2}))),
    "vjp twice": lambda t: (lambda f: (f(x_of(t)), f(x_of(t) * 2)))(t.func.vjp(t.sin, x_of(t))[1]),
    "vjp aux": lambda t: (lambda found: (found[0], found[1](x_of(t)), found[2]))(
        t.func.vjp(lambda a: (a.sin(), a.cos()), x_of(t), has_aux=True)
    ),
    "grad of vjp": lambda t: t.func.grad(lambda a: t.func.vjp(t.sin, a)[1](x_of(t))[0].sum())(x_of(t)),
    "jvp": lambda t: t.func.jvp(lambda a, b: (a * b, b.sin()), (x_of(t), x_of(t) + 1), (t.ones(3), x_of(t))),
    "jvp aux": lambda t: t.func.jvp(lambda a: (a.sin(), a.cos()), (x_of(t),), (t.ones(3),), has_aux=True),
    "jvp of a tree": lambda t: t.func.jvp(lambda p: {"r": p["a"] * p["b"]}, ({"a": x_of(t), "b": x_of(t)},), (
        {"a": t.ones(3), "b": x_of(t)},
    )),
    "jvp of grad": lambda t: t.func.jvp(t.func.grad(lambda a: (a**3).sum()), (x_of(t),), (t.ones(3),)),
    "jvp of jvp": lambda t: t.func.jvp(lambda a: t.func.jvp(t.sin, (a,), (t.ones(3),))[1], (x_of(t),), (t.ones(3),)),
    "grad of jvp": lambda t: t.func.grad(lambda a: t.func.jvp(t.sin, (a,), (t.ones(3),))[1].sum())(x_of(t)),
    "jvp of a broadcast": lambda t: t.func.jvp(lambda w, a: (w * a).sum(0).exp(), (t.tensor(W), x_of(t)), (t.tensor(W), x_of(t))),
    "linearize": lambda t: (lambda found: (found[0], found[1](t.ones(3)), found[1](x_of(t))))(t.func.linearize(t.sin, x_of(t))),
    "softmax": lambda t: t.func.hessian(lambda a: t.log_softmax(a, 0)[1])(x_of(t)),
    "norm": lambda t: t.func.jacrev(lambda a: a / a.norm())(x_of(t)),
    "matmul": lambda t: t.func.grad(lambda w: (w @ w.T).sin().sum())(t.tensor(W)),
    "linalg": lambda t: t.func.jacrev(lambda a: t.linalg.inv(t.outer(a, a) + t.eye(3)))(x_of(t)),
}


def _without(t, a):
    with t.no_grad():
        return a**2


def _pull(t, function):
    output, pull = t.func.vjp(function, x_of(t), x_of(t) + 1)
    return output, pull((x_of(t), (t.tensor(2.0), {"c": t.ones(3)})))


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name, both):
    both(lambda t: DERIVATIVES[name](t), strides=False, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["grad", "jacrev", "hessian", "vjp", "jvp", "jacfwd", "value", "softmax"])
def test_under_no_grad(name, both):
    def body(t):
        with t.no_grad():
            return DERIVATIVES[name](t)

    both(body, strides=False, rtol=2e-5, atol=2e-5)


def test_autograd_around(both):
    def body(t):
        x = x_of(t).requires_grad_()
        found = t.func.grad(lambda x: (x**3).sum())(x)
        found.sum().backward()
        first = x.grad.clone()
        y = x_of(t).requires_grad_()
        t.func.grad(lambda x: (x * y**2).sum())(x_of(t)).sum().backward()
        z = x_of(t).requires_grad_()
        output, pull = t.func.vjp(lambda a: a * z, x_of(t))
        (output.sum() + pull(t.ones(3))[0].sum()).backward()
        return found.detach(), first, y.grad, z.grad

    both(body)


def test_what_is_not_followed(both):
    def body(t):
        x = x_of(t).requires_grad_()
        with t.no_grad():
            inside = t.func.grad(lambda x: (x**2).sum())(x)
        return inside, t.func.grad(lambda x: (x**2).sum())(x_of(t)), t.func.vjp(t.sin, x_of(t))[0], x.grad

    both(body)


REFUSALS = {
    "not a number": lambda t: t.func.grad(t.sin)(t.ones(2)),
    "complex": lambda t: t.func.grad(lambda x: (x * 1j).sum())(t.ones(2)),
    "not a tensor": lambda t: t.func.grad(lambda x: 3)(t.ones(2)),
    "aux": lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(t.ones(2)),
    "integers": lambda t: t.func.grad(lambda x: x.sum())(t.ones(2, dtype=t.int64)),
    "argnums": lambda t: t.func.grad(lambda x: x.sum(), argnums=1)(t.ones(2)),
    "argnums twice": lambda t: t.func.grad(lambda x: x.sum(), argnums=(0, 0))(t.ones(2)),
    "argnums empty": lambda t: t.func.grad(lambda x: x.sum(), argnums=())(t.ones(2)),
    "argnums list": lambda t: t.func.grad(lambda x: x.sum(), argnums=[0])(t.ones(2)),
    "argnum type": lambda t: t.func.grad(lambda x: x.sum(), argnums=("0",))(t.ones(2)),
    "vjp structure": lambda t: t.func.vjp(t.sin, t.ones(2))[1]((t.ones(2),)),
    "jvp tuple": lambda t: t.func.jvp(t.sin, t.ones(2), t.ones(2)),
    "jvp nothing": lambda t: t.func.jvp(t.sin, (), ()),
    "jvp aux": lambda t: t.func.jvp(t.sin, (t.ones(2),), (t.ones(2),), has_aux=True),
    "chunk size": lambda t: t.func.jacrev(t.sin, chunk_size=0),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name, both):
    both(lambda t: REFUSALS[name](t))


# Modules


def _net(t):
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))


def test_functional_call(both):
    def body(t):
        net = _net(t)
        x = t.randn(5, 3)
        before = {name: value.clone() for name, value in net.state_dict().items()}
        given = {name: p.detach() * 2 for name, p in net.named_parameters()}
        result = t.func.functional_call(net, given, (x,))
        buffers = {name: b.clone() for name, b in net.named_buffers()}
        own = t.func.functional_call(net, (given, buffers), (x,))
        partly = t.func.functional_call(net, {"0.weight": t.zeros(4, 3)}, x)
        same = all((net.state_dict()[name] == value).all() for name, value in before.items() if "running" not in name and "num" not in name)
        return result.detach(), own.detach(), partly.detach(), same, buffers

    both(body, atol=1e-5)


def test_gradients_of_a_module(both):
    def body(t):
        net = _net(t).eval()
        x, y = t.randn(5, 3), t.randn(5, 2)
        params = {name: p.detach() for name, p in net.named_parameters()}
        buffers = dict(net.named_buffers())

        def loss(params, x, y):
            return t.nn.functional.mse_loss(t.func.functional_call(net, (params, buffers), (x,)), y)

        gradients = t.func.grad(loss)(params, x, y)
        samples = t.func.vmap(t.func.grad(loss), in_dims=(None, 0, 0))(params, x[:, None], y[:, None])
        return gradients, samples

    both(body, strides=False, atol=1e-5)


def test_ensembles(both):
    def body(t):
        nets = []
        for seed in range(3):
            t.manual_seed(seed)
            nets.append(t.nn.Linear(3, 2))
        params, buffers = t.func.stack_module_state(nets)
        x = t.randn(4, 3)
        result = t.func.vmap(lambda p, x: t.func.functional_call(nets[0], p, (x,)), in_dims=(0, None))(params, x)
        return {name: p.detach() for name, p in params.items()}, buffers, result.detach()

    both(body, strides=False)


def test_batch_norm_without_buffers(both):
    def body(t):
        net = _net(t)
        t.func.replace_all_batch_norm_modules_(net)
        return [type(m).__name__ for m in net.modules()], net[2].track_running_stats, net[2].running_mean, repr(net)

    both(body)


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.func.functional_call(t.nn.Linear(2, 2), {"nothing": t.ones(1)}, t.ones(1, 2)),
        lambda t: t.func.functional_call(t.nn.Linear(2, 2), ({"bias": t.ones(2)}, {"bias": t.ones(2)}), t.ones(1, 2)),
        lambda t: t.func.functional_call(t.nn.Linear(2, 2), 3, t.ones(1, 2)),
        lambda t: t.func.stack_module_state([]),
        lambda t: t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.Linear(2, 2).eval()]),
        lambda t: t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.Identity()]),
    ],
)
def test_module_refusals(body, both):
    both(body)


CALLS = {
    "attribute": {"x": 0.0},
    "new": {"x": 1.0, "more": 5.0},
    "module": {"layer": 1.0},
    "nowhere": {"other.weight": 1.0},
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_calls_with_attributes(name, strict, both):
    def body(t):
        class Net(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.x = t.ones(2)
                self.layer = t.nn.Linear(2, 2)

            def forward(self, given):
                return given * self.x + (self.more if hasattr(self, "more") else 0)

        net = Net()
        tensors = {key: t.full((2,), value) for key, value in CALLS[name].items()}
        return t.func.functional_call(net, tensors, t.ones(2), strict=strict), net.x, hasattr(net, "more")

    both(body)


def _saving(t, x):
    with t.autograd.graph.save_on_cpu():
        return x.sin().sum()


REFUSED = {
    "nothing by jacrev": lambda t, x: t.func.jacrev(lambda y: None)(x),
    "empty by jacfwd": lambda t, x: t.func.jacfwd(lambda y: ())(x),
    "empty by vjp": lambda t, x: t.func.vjp(lambda y: (), x),
    "a number for a direction": lambda t, x: t.func.jvp(t.sin, (x,), (1.0,)),
    "hooks in grad": lambda t, x: t.func.grad(lambda y: _saving(t, y))(x),
    "hooks in vjp": lambda t, x: t.func.vjp(lambda y: _saving(t, y), x),
    "hooks in jacrev": lambda t, x: t.func.jacrev(lambda y: _saving(t, y))(x),
    "models apart": lambda t, x: t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.Linear(2, 2).requires_grad_(False)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_transforms_raise_torchs_errors(name, both):
    both(lambda t: REFUSED[name](t, t.ones(2)))


def test_hooks_that_jvp_takes(both):
    both(lambda t: t.func.jvp(lambda y: _saving(t, y), (t.ones(2),), (t.ones(2),)))


@pytest.mark.parametrize("name", ["vjp", "grad", "grad_and_value", "jacrev", "jacfwd", "jvp"])
def test_each_result_is_tracked_by_itself(both, name):
    """Next to results that depend on a captured parameter, results that depend only on the transform's input are not tracked outside."""

    def body(torch):
        layer, x, f = torch.nn.Linear(2, 2), torch.ones(1, 2), torch.func

        def of(a):
            return layer(a).sum() if "grad" in name else layer(a), (a * 2, layer(a), [a.sum()])

        if name == "vjp":
            result, back, aux = f.vjp(of, x, has_aux=True)
            return result, aux, back(torch.ones_like(result)), f.vjp(lambda a: (a * 2, layer(a)), x)[0]
        return f.jvp(of, (x,), (x,), has_aux=True)[2] if name == "jvp" else getattr(f, name)(of, has_aux=True)(x)

    both(body, strides=False)
