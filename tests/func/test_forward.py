"""Forward mode of torch.func compared with torch: jvp in jvp, in grad and around it, Jacobians, functions that write in place."""
from __future__ import annotations

import pytest

X, V = [1.0, 2.0, 3.0], [1.0, 0.0, 2.0]


def x_of(t, **kind):
    return t.tensor(X, **kind)


def v_of(t, **kind):
    return t.tensor(V, **kind)


def along(t, f, x=None, v=None, **options):
    return t.func.jvp(f, (x_of(t) if x is None else x,), (v_of(t) if v is None else v,), **options)


def _thrice(t):
    f = t.sin
    for _ in range(3):
        f = (lambda g: lambda x: t.func.jvp(g, (x,), (t.ones(3),))[1])(f)
    return f(x_of(t))


def _writes(t):
    def f(x):
        y = x.clone()
        y[0].mul_(x[1])
        y[1:] = x[:2] ** 2
        y[1:].add_(y[:2])
        return y

    return along(t, f), t.func.jacfwd(f)(x_of(t)), t.func.jacfwd(t.func.jacfwd(f))(x_of(t))


def _writes_to_its_argument(t):
    x, v = x_of(t), v_of(t)
    return along(t, lambda x: x.mul_(2), x, v), x, v


def _followed(t):
    x, v = x_of(t, requires_grad=True), v_of(t, requires_grad=True)
    value, slope = along(t, t.sin, x, v)
    return value, slope, t.autograd.grad(slope.sum(), [x, v])


def _jacobian_followed(t):
    x = x_of(t, requires_grad=True)
    found = t.func.jacfwd(lambda x: x**3)(x)
    return found, t.autograd.grad(found.sum(), x)


def _without(t, f):
    with t.no_grad():
        return f()


class _Network:
    def __init__(self, t):
        t.manual_seed(0)
        self.module = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.LayerNorm(4), t.nn.Linear(4, 2))
        self.parameters = {name: p.detach() for name, p in self.module.named_parameters()}

    def __call__(self, t, parameters, x):
        return t.func.functional_call(self.module, parameters, (x,))


def _hessian_product(t):
    net = _Network(t)

    def loss(parameters):
        return (net(t, parameters, x_of(t)) ** 2).sum()

    return t.func.jvp(t.func.grad(loss), (net.parameters,), ({name: p.cos() for name, p in net.parameters.items()},))


def _linearized(t):
    value, f = t.func.linearize(lambda x, y: (x * y, {"s": x.sum()}), x_of(t), v_of(t))
    return value, f(v_of(t), x_of(t))


BODIES = {
    "aux": lambda t: along(t, lambda x: (x.sin(), x.cos()), has_aux=True),
    "independent": lambda t: along(t, lambda x: t.ones(2)),
    "strict": lambda t: along(t, lambda x: (x, t.ones(2)), strict=True),
    "integers out": lambda t: along(t, lambda x: x.argmax()),
    "identity": lambda t: along(t, lambda x: x),
    "another dtype": lambda t: along(t, lambda x: x * 2, v=v_of(t).half().float()),
    "thrice": _thrice,
    "perturbations": lambda t: along(
        t, lambda x: x * along(t, lambda y: x + y, t.tensor(1.0), t.tensor(1.0))[1], t.tensor(1.0), t.tensor(1.0)
    ),
    "nested products": lambda t: along(t, lambda x: x * along(t, lambda y: x * y, x, t.tensor(1.0))[1], t.tensor(2.0), t.tensor(1.0)),
    "grad of jvp": lambda t: t.func.grad(lambda x: along(t, lambda y: y**3, x)[1].sum())(x_of(t)),
    "jvp of grad": lambda t: along(t, t.func.grad(lambda x: (x**3).sum())),
    "jvp of vjp": lambda t: along(t, lambda x: t.func.vjp(t.sin, x)[1](v_of(t))[0]),
    "vjp of jvp": lambda t: t.func.vjp(lambda x: along(t, t.sin, x), x_of(t))[1]((v_of(t), v_of(t))),
    "grad of grad of jvp": lambda t: t.func.grad(t.func.grad(lambda x: along(t, t.sin, x, x * 2)[1]))(t.tensor(0.3)),
    "jvp of grad of grad": lambda t: along(t, t.func.grad(t.func.grad(t.sin)), t.tensor(0.3), t.tensor(2.0)),
    "jacrev of jacfwd": lambda t: t.func.jacrev(t.func.jacfwd(lambda x: x**3 * x[0]))(x_of(t)),
    "jacfwd of jacrev": lambda t: t.func.jacfwd(t.func.jacrev(lambda x: x**3 * x[0]))(x_of(t)),
    "hessian": lambda t: t.func.hessian(lambda x: (x**3).sum() * x.softmax(0)[0])(x_of(t)),
    "Jacobian of two": lambda t: t.func.jacfwd(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(x_of(t), v_of(t)),
    "Jacobian of a dict": lambda t: t.func.jacfwd(lambda p: {"c": p["a"] * p["b"]})({"a": x_of(t), "b": v_of(t)}),
    "Jacobian of a matrix": lambda t: t.func.jacfwd(lambda x: x.exp().sum(0))(t.ones(2, 3)),
    "Jacobian of integers": lambda t: t.func.jacfwd(lambda x: x.argmax())(x_of(t)),
    "Jacobian and aux": lambda t: t.func.jacfwd(lambda x: (x * x, x.sum()), has_aux=True)(x_of(t)),
    "complex Jacobian": lambda t: t.func.jacfwd(lambda x: x * x)(t.tensor([1 + 1j, 2.0])),
    "no such argument": lambda t: t.func.jacfwd(lambda x: x, argnums=3)(x_of(t)),
    "no tensor": lambda t: t.func.jacfwd(lambda x: 3)(x_of(t)),
    "random numbers": lambda t: t.func.jacfwd(lambda x: x * t.rand(3))(x_of(t)),
    "integer arguments": lambda t: along(t, lambda x: x * 2, t.arange(3), t.arange(3)),
    "requires grad": _followed, "Jacobian requires grad": _jacobian_followed,
    "no_grad within": lambda t: along(t, lambda x: _without(t, x.sin) * x),
    "no_grad around": lambda t: _without(t, lambda: along(t, t.sin, x_of(t, requires_grad=True))),
    "detached": lambda t: along(t, lambda x: x * x.detach()),
    "item": lambda t: along(t, lambda x: x * x[0].item()),
    "writes": _writes, "writes to its argument": _writes_to_its_argument,
    "parameters": lambda t: (lambda net: t.func.jvp(lambda p: net(t, p, x_of(t)), (net.parameters,), (net.parameters,)))(_Network(t)),
    "Hessian times a direction": _hessian_product, "linearized": _linearized,
    "of a map": lambda t: along(t, t.func.vmap(lambda x: x.sin() * x[0]), t.ones(2, 3), t.ones(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_forward(name, both):
    both(lambda t: BODIES[name](t), rtol=1e-4, atol=1e-5, strides=name not in ("of a map", "Jacobian of integers"))


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers_of_a_jacobian(randomness, both):
    def body(t):
        t.manual_seed(0)
        found = t.func.jacfwd(lambda x: x * t.rand(3), randomness=randomness)(x_of(t))
        return found if randomness == "same" else (found != 0)

    both(body)
