"""Nodes as programs read them: metadata of outputs, replayed views, copies of gradients, gradients that raise when they are differentiated."""
from __future__ import annotations

from importlib import import_module

import pytest


def described(node):
    """Return a graph as nested names."""
    return None if node is None else (type(node).__name__, [described(edge) for edge, _ in node.next_functions])


def _told(node):
    return [(list(one.shape), one.dtype, one.device.type, one.is_nested_tensor, one.is_cpp_nested_tensor) for one in node._input_metadata]


@pytest.mark.parametrize("make", [
    lambda torch, x: x * x,
    lambda torch, x: torch.var_mean(x, dim=0)[1],
    lambda torch, x: x.max(0).values,
    lambda torch, x: x.unbind()[1],
    lambda torch, x: torch.linalg.qr(x)[1],
    lambda torch, x: x.double(),
    lambda torch, x: x.t()[:, :2],
    lambda torch, x: torch.cat([x, x]),
    lambda torch, x: torch.stack([x, x]).sum(0),
    lambda torch, x: torch.nn.functional.conv1d(x[None], x[None]),
    lambda torch, x: x.split(1)[2],
    lambda torch, x: (x * 1)[0].mul_(2)._base,
    lambda torch, x: torch.nn.functional.layer_norm(x, (3,)),
])  # fmt: skip
def test_input_metadata(both, make):
    """Metadata of a node, and of the nodes below it whose tensors the program never read."""

    def body(torch):
        node, found = make(torch, torch.arange(9.0).reshape(3, 3).add(torch.eye(3)).requires_grad_()).grad_fn, []
        while node is not None:
            found.append(_told(node))
            node = node.next_functions[0][0] if node.next_functions else None
        return found

    both(body)


def test_input_metadata_of_functions_and_nested_tensors(both):
    def body(torch):
        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x.sum()

            @staticmethod
            def backward(ctx, a, b):
                return a

        nested = torch.nested.nested_tensor([torch.ones(3, 2), torch.ones(2, 2)], layout=torch.jagged, requires_grad=True)
        (one,) = nested.clone().grad_fn._input_metadata
        return _told(Two.apply(torch.ones(2, 3, requires_grad=True))[0].grad_fn), one.is_nested_tensor, one.is_cpp_nested_tensor, one.shape[2]

    both(body)


@pytest.mark.parametrize("view", [lambda x: x.view(-1), lambda x: x[0], lambda x: x.t(), lambda x: x.diagonal(), lambda x: x.view_as(x)])
def test_views_are_replayed(both, view):
    def body(torch):
        replay = import_module(f"{torch.__name__}.autograd.grad_mode")._force_original_view_tracking
        x = torch.ones(2, 2, requires_grad=True)

        def written():
            base = x.clone()
            part = view(base)
            part.mul_(3)
            (gradient,) = torch.autograd.grad((part * part).sum() + base.sum(), x)
            return part.grad_fn.name(), gradient, torch.autograd.is_view_replay_enabled()

        found = [written()]
        with replay(True):
            found.append(written())
        found.append(written())
        replay(True)
        found.append(written())
        replay(False)
        return [*found, written()]

    both(body)


@pytest.mark.parametrize("function", [
    lambda x: x * x, lambda x: x.t() * x, lambda x: (x.exp() * x).sum(0), lambda x: x.sin() + x[0],
])  # fmt: skip
def test_gradients_with_a_graph_are_copied(both, function):
    def body(torch):
        x = torch.arange(4.0).reshape(2, 2).requires_grad_()
        function(x).sum().backward(create_graph=True)
        names = [type(x.grad.grad_fn).__name__, x.grad.grad_fn.next_functions[0][0]]
        first = x.grad.detach().clone()
        (second,) = torch.autograd.grad(x.grad.sum(), x)
        return names, first, second

    both(body)


def test_once_differentiable_has_one_node(both):
    def body(torch):
        class Once(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, number, y):
                return x + number * y

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                return g, None, g * 2

        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        seed = torch.ones(2, requires_grad=True)
        a, b = torch.autograd.grad(Once.apply(x, 3.0, y), (x, y), seed, create_graph=True)
        assert a.grad_fn is b.grad_fn
        with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
            (a + b).sum().backward()
        return described(a.grad_fn)

    both(body)


def test_tensors_of_a_cache(both):
    def body(torch):
        own, x = torch._C, torch.ones(2)
        found = [own._is_cached_tensor(x)]
        own._set_cached_tensors_enabled(True)
        own._add_cached_tensor(x)
        own._add_cached_tensor(x)
        found += [own._is_cached_tensor(x), own._is_cached_tensor(x[:])]
        own._remove_cached_tensor(x)
        found.append(own._is_cached_tensor(x))
        own._set_cached_tensors_enabled(False)
        return found

    both(body)


@pytest.mark.parametrize("draw", [
    lambda torch, v: torch.randn_like(v), lambda torch, v: torch.rand(2) + v, lambda torch, v: torch.bernoulli(v * 0),
    lambda torch, v: torch.nn.functional.dropout(v), lambda torch, v: v.clone().normal_(), lambda torch, v: v * 2,
])  # fmt: skip
def test_older_vmap_draws_no_numbers(both, draw):
    both(lambda torch: import_module(f"{torch.__name__}._vmap_internals")._vmap(lambda v: draw(torch, v))(torch.ones(3, 2)))


def test_older_vmap_runs_functions_as_they_are(both):
    def body(torch):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

            @staticmethod
            def jvp(ctx, g):
                return g * 3

        levels, vmap = import_module(f"{torch.__name__}.autograd.forward_ad"), import_module(f"{torch.__name__}._vmap_internals")._vmap

        def slope(tangent):
            with levels.dual_level():
                return levels.unpack_dual(Double.apply(levels.make_dual(torch.ones(2), tangent))).tangent

        x = torch.arange(6.0).reshape(3, 2)
        return vmap(Double.apply)(x), vmap(slope)(x)

    both(body)


def test_creation_hook():
    """torch 2.14.1 calls the hook with these nodes (recorded from it), the innermost hook first."""
    import mstorch as torch

    x, told = torch.ones(2, 2, requires_grad=True), []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def names(run):
        found = []
        with torch.autograd.graph.node_creation_hook(lambda node: found.append(node.name().rpartition("::")[2])):
            run()
        return found

    assert names(lambda: x * 2) == ["AccumulateGrad", "MulBackward0"]
    assert names(lambda: (x * 2).sum().backward()) == ["AccumulateGrad", "MulBackward0", "SumBackward0"]
    assert names(lambda: x.unbind()) == ["AccumulateGrad", "UnbindBackward0"]
    assert names(lambda: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1]))) == ["AccumulateGrad", "LogSoftmaxBackward0", "NllLossBackward0"]
    assert names(lambda: Double.apply(x)) == ["AccumulateGrad", "DoubleBackward"]
    assert names(lambda: torch.ones(2) * 2) == []
    with torch.no_grad():
        assert names(lambda: x * 2) == []
    outer = names(lambda: told.append(names(lambda: x + 1)))
    assert outer == told[0] == ["AccumulateGrad", "AddBackward0"]

    def run_later(node):
        node.register_hook(lambda *_: told.append(node.name()))
        node.metadata["seen"] = True

    with torch.autograd.graph.node_creation_hook(run_later):
        y = (x * 2).sum()
    y.backward()
    assert told[1:] == ["SumBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"] and y.grad_fn.metadata == {"seen": True}
    with pytest.raises(ZeroDivisionError), torch.autograd.graph.node_creation_hook(lambda node: 1 / 0):
        x + 1
    assert names(lambda: torch.ones(2, requires_grad=True) * 2) == ["AccumulateGrad", "MulBackward0"]  # the one that raised has been left
