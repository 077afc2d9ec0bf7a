"""torch.autograd.functional, anomaly detection and the modes of backward, against torch."""
from __future__ import annotations

import warnings

import pytest
import torch

import mstorch

A = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
B = [0.3, -0.6, 0.9]


def _two(t):
    return t.tensor(A), t.tensor(B)


FUNCTIONS = {
    "square": (lambda t, x, y: x * x * y, False),
    "matmul": (lambda t, x, y: (x @ y).sin(), False),
    "pair": (lambda t, x, y: (x.exp().sum(0) * y, (x * y).sum()), False),
    "number": (lambda t, x, y: (x.pow(3) * y).sum() + y.prod(), True),
    "only the first": (lambda t, x, y: x.sin().sum(), True),
    "linear": (lambda t, x, y: (2 * x).sum() + (3 * y).sum(), True),
    "softmax": (lambda t, x, y: t.log_softmax(x * y, -1)[0, 1], True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_first_derivatives(name, create_graph, both):
    function = FUNCTIONS[name][0]

    def body(t):
        x, y = (v.requires_grad_() for v in _two(t))
        inner = lambda x, y: function(t, x, y)
        output = function(t, x, y)
        v = tuple(o.detach().cos() for o in output) if isinstance(output, tuple) else output.detach().cos()
        f = t.autograd.functional
        found = [
            f.vjp(inner, (x, y), v, create_graph=create_graph),
            f.jvp(inner, (x, y), (x.detach().cos(), y.detach().sin()), create_graph=create_graph),
            f.jacobian(inner, (x, y), create_graph=create_graph),
            f.jacobian(inner, (x, y), vectorize=True),
            f.jacobian(lambda y: function(t, x.detach(), y), y),
            [v.detach() for v in _flat(f.jacobian(inner, (x, y), vectorize=True, strategy="forward-mode"))],
        ]
        gradients = []
        if create_graph:
            total = sum(o.sum() for o in _flat(found[:3]))
            if total.requires_grad:
                gradients = t.autograd.grad(total, (x, y), allow_unused=True)
        return found if not create_graph else [found, [None if g is None else g.detach() for g in gradients]]

    both(body, strides=False)


def _flat(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


@pytest.mark.parametrize("name", [name for name, (_, number) in FUNCTIONS.items() if number])
@pytest.mark.parametrize("create_graph", [False, True])
def test_second_derivatives(name, create_graph, both):
    function = FUNCTIONS[name][0]

    def body(t):
        x, y = (v.requires_grad_() for v in _two(t))
        inner = lambda x, y: function(t, x, y)
        v = (x.detach().cos(), y.detach().sin())
        f = t.autograd.functional
        return [
            f.hessian(inner, (x, y), create_graph=create_graph),
            f.hessian(lambda x: function(t, x, y.detach()), x, vectorize=True),
            f.vhp(inner, (x, y), v, create_graph=create_graph),
            f.hvp(inner, (x, y), v, create_graph=create_graph),
            f.hvp(lambda x: function(t, x, y.detach()), x, v[0]),
        ]

    both(body, strides=False, atol=1e-5)


def test_one_number(both):
    def body(t):
        x = t.tensor([0.7])
        f = t.autograd.functional
        return f.vjp(t.exp, x), f.jvp(t.exp, x), f.vhp(t.exp, x), f.hvp(t.exp, x), f.hessian(t.exp, x), f.jacobian(t.exp, x)

    both(body)


def test_direction_through_a_gradient(both):
    """A Hessian-vector product as ``jvp`` of a gradient."""

    def body(t):
        x, y = _two(t)

        def gradient(y):
            y = y if y.requires_grad else y.requires_grad_()
            return t.autograd.grad(((x * y).exp() + x / y).sum(), y, create_graph=True)[0]

        return t.autograd.functional.jvp(gradient, y, y.cos())

    both(body, atol=1e-4, rtol=1e-4)


def test_batched_gradients(both):
    def body(t):
        x, y = (v.requires_grad_() for v in _two(t))
        result, other = (x * y).sin(), x.sum(0)
        many = t.eye(6).reshape(6, 2, 3)
        first = t.autograd.grad(result, (x, y), many, retain_graph=True, is_grads_batched=True)
        created = t.autograd.grad((result, other), (x, y), (many, many[:, 0]), create_graph=True, is_grads_batched=True)
        second = t.autograd.grad(created[0].sum(), y, retain_graph=True)
        unused = t.autograd.grad(other, (x, y), t.eye(3), is_grads_batched=True, allow_unused=True)
        return first, [c.detach() for c in created], second, unused

    both(body, strides=False, atol=1e-5)
    both(lambda t: t.autograd.grad(t.ones(3, requires_grad=True) * 2, t.ones(3, requires_grad=True), is_grads_batched=True))
    both(
        lambda t: t.autograd.grad(t.ones(3, requires_grad=True) * 2, t.ones(1), t.eye(4), is_grads_batched=True),
        message="a mismatch was detected",
    )


def test_no_grad_outside(both):
    def body(t):
        x = t.tensor(B, requires_grad=True)
        f = t.autograd.functional
        with t.no_grad():
            return f.vjp(lambda x: (x**3).sum(), x), f.jacobian(t.sin, x), f.hvp(lambda x: (x**3).sum(), x, x.detach())

    both(body)


REFUSALS = {
    "type": lambda f, t: f.vjp(t.exp, 3),
    "types": lambda f, t: f.jvp(t.exp, (t.ones(1), 3)),
    "output": lambda f, t: f.jacobian(lambda x: 3, t.ones(1)),
    "v none": lambda f, t: f.vjp(t.exp, t.ones(2)),
    "v none jvp": lambda f, t: f.jvp(t.exp, t.ones(2)),
    "v none hvp": lambda f, t: f.hvp(t.sum, t.ones(2)),
    "v size": lambda f, t: f.vjp(t.exp, t.ones(2), t.ones(3)),
    "v length": lambda f, t: f.jvp(t.add, (t.ones(2), t.ones(2)), (t.ones(2),)),
    "v length 1": lambda f, t: f.jvp(t.exp, t.ones(2), (t.ones(2), t.ones(2))),
    "v sizes": lambda f, t: f.jvp(t.add, (t.ones(2), t.ones(2)), (t.ones(2), t.ones(1))),
    "hessian of two": lambda f, t: f.hessian(lambda x: (x.sum(), x.sum()), t.ones(2)),
    "hessian of many": lambda f, t: f.hessian(t.exp, t.ones(2)),
    "vhp of many": lambda f, t: f.vhp(t.exp, t.ones(2), t.ones(2)),
    "hvp of two": lambda f, t: f.hvp(lambda x: (x.sum(), x.sum()), t.ones(2), t.ones(2)),
    "strategy": lambda f, t: f.jacobian(t.exp, t.ones(2), strategy="sideways"),
    "outer strategy": lambda f, t: f.hessian(t.sum, t.ones(2), outer_jacobian_strategy="sideways"),
    "forward": lambda f, t: f.jacobian(t.exp, t.ones(2), strategy="forward-mode"),
    "forward graph": lambda f, t: f.jacobian(t.exp, t.ones(2), create_graph=True, strategy="forward-mode", vectorize=True),
    "forward strict": lambda f, t: f.jacobian(t.exp, t.ones(2), strict=True, strategy="forward-mode", vectorize=True),
    "strict vectorize": lambda f, t: f.jacobian(t.exp, t.ones(2), strict=True, vectorize=True),
    "strict constant": lambda f, t: f.vjp(lambda x: t.ones(2), t.ones(2), t.ones(2), strict=True),
    "strict unused": lambda f, t: f.vjp(lambda x, y: x, (t.ones(2), t.ones(2)), t.ones(2), strict=True),
    "strict jacobian": lambda f, t: f.jacobian(lambda x, y: x * 2, (t.ones(2), t.ones(2)), strict=True),
    "strict jvp": lambda f, t: f.jvp(lambda x, y: x * 2, (t.ones(2), t.ones(2)), (t.ones(2), t.ones(2)), strict=True),
    "strict hessian": lambda f, t: f.hessian(lambda x: (2 * x).sum(), t.ones(2), strict=True),
    "strict hvp": lambda f, t: f.hvp(lambda x: (2 * x).sum(), t.ones(2), t.ones(2), strict=True),
    "strict vhp": lambda f, t: f.vhp(lambda x, y: (x**2).sum(), (t.ones(2), t.ones(2)), (t.ones(2), t.ones(2)), strict=True),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name, both):
    if name in ("type", "types", "output"):
        with pytest.raises(TypeError) as theirs:
            REFUSALS[name](torch.autograd.functional, torch)
        with pytest.raises(TypeError) as mine:
            REFUSALS[name](mstorch.autograd.functional, mstorch)
        assert str(mine.value) == str(theirs.value)
    else:
        both(lambda t: REFUSALS[name](t.autograd.functional, t), message=None)


# Anomalies


@pytest.mark.parametrize("check_nan", [True, False])
def test_anomaly(check_nan):
    for t in (torch, mstorch):
        x = t.tensor([-1.0, 4.0], requires_grad=True)
        with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
            region = t.autograd.detect_anomaly(check_nan)
        with region:
            assert t.is_anomaly_enabled() and t.is_anomaly_check_nan_enabled() == check_nan
            (x[1:].sqrt().sum() + x[0]).backward()
            if check_nan:
                with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                    x.sqrt().sum().backward()
                with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                    t.autograd.grad(x.sqrt().sum(), x)
            else:
                x.sqrt().sum().backward()
        assert not t.is_anomaly_enabled()
        x.sqrt().sum().backward()


def test_set_anomaly(both):
    def body(t):
        seen = []
        with t.autograd.set_detect_anomaly(True, False):
            seen.append((t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()))
        t.autograd.set_detect_anomaly(True)
        seen.append((t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()))
        t.autograd.set_detect_anomaly(False)
        t.set_anomaly_enabled(True, False)
        seen.append((t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()))
        t.set_anomaly_enabled(False)
        return seen

    both(body)


def test_second_derivatives_forwards(both):
    """The outer Jacobian is computed in forward mode, also for inputs that do not require grad; the result is a list for several inputs."""
    forwards = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}

    def body(t):
        x, y = t.tensor([1.0, 2, 3]), t.tensor([2.0, 3, 4])
        found = [
            t.autograd.functional.hessian(lambda a: (a**3).prod(), x, **forwards),
            t.autograd.functional.hessian(lambda a: (a**3).prod(), x.clone().requires_grad_(), **forwards),
            t.autograd.functional.hessian(lambda a, b: (a * b).sum() ** 2, (x, y), **forwards),
        ]
        for kwargs in ({}, {"vectorize": True, "strategy": "forward-mode"}):
            found.append(t.autograd.functional.jacobian(lambda a, b: (a * b, b.sum()), (x, y), **kwargs))
            found.append(t.autograd.functional.jacobian(lambda a: (a * 2, a.sum()), x, **kwargs))
        return found, [type(item).__name__ for item in found]

    both(body)


def test_choices_and_what_is_gone(both):
    def body(t):
        x = t.ones(2, requires_grad=True)
        with t.autograd.set_multithreading_enabled(False), t.autograd.enforce_grad_layout_policy(False):
            (x * 2).sum().backward()

        @t.autograd.set_multithreading_enabled(True)
        def twice(v):
            return v * 2

        return x.grad, twice(x.detach())

    both(body)
    both(lambda t: t.autograd.variable(3))
    assert issubclass(mstorch.autograd.NestedIOFunction, mstorch.autograd.Function)


def _written(torch):
    x = torch.ones(3, requires_grad=True) + 1
    y = x**2
    x += 1
    y.sum().backward()


def _no_number(torch):
    (torch.zeros(2, requires_grad=True).sqrt() * 0).sum().backward()


def _own_error(torch):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("own")

    Own.apply(torch.ones(2, requires_grad=True)).sum().backward()


def _freed(torch):
    y = torch.ones(2, requires_grad=True).exp()
    y.sum().backward()
    y.sum().backward()


@pytest.mark.parametrize("mistake", [_written, _no_number, _own_error, _freed, lambda torch: torch.ones(2, requires_grad=True).exp().sum().backward()])
def test_anomaly_mode_names_the_node(both, mistake):
    def body(torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with torch.autograd.detect_anomaly():
                    mistake(torch)
            except (RuntimeError, ValueError) as error:
                return type(error).__name__, [str(item.message).split(". ")[0] for item in caught]
        return [str(item.message).split(". ")[0] for item in caught]

    both(body)
