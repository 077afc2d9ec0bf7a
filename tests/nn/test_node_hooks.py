"""register_backward_hook: the deprecated hook of the node that made a module's output."""
from __future__ import annotations

import warnings

import pytest


def run(torch, module, x, shape=None):
    seen = []
    handle = module.register_backward_hook(
        lambda m, given, made: seen.append((type(m).__name__, [None if g is None else g.clone() for g in given], [g.clone() for g in made]))
    )
    with warnings.catch_warnings(record=True) as texts:
        warnings.simplefilter("always")
        result = module(x)
    result.sum().backward()
    handle.remove()
    module(x).sum().backward()
    return seen, [str(w.message) for w in texts], x.grad


def test_of_a_module_of_one_node(both):
    both(lambda torch: run(torch, torch.nn.ReLU(), torch.arange(-2.0, 2).requires_grad_()))


def test_of_a_module_of_several_nodes(both):
    def body(torch):
        module = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid())
        return run(torch, module, torch.arange(-2.0, 2).requires_grad_())

    both(body)


def test_replaces_the_gradient(both):
    def body(torch):
        module = torch.nn.ReLU()
        module.register_backward_hook(lambda m, given, made: (given[0] * 3,))
        x = torch.ones(2, requires_grad=True)
        module(x).sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("first", ["register_backward_hook", "register_full_backward_hook"])
def test_one_kind_a_module(both, first):
    def body(torch):
        module = torch.nn.ReLU()
        getattr(module, first)(print)
        other = {"register_backward_hook": "register_full_backward_hook"}.get(first, "register_backward_hook")
        getattr(module, other)(print)

    both(body)


def test_of_all_modules(both):
    def body(torch):
        seen = []
        if hasattr(torch.nn.modules.module, "_global_is_full_backward_hook"):  # torch remembers hooks of other tests
            torch.nn.modules.module._global_is_full_backward_hook = None
        handle = torch.nn.modules.module.register_module_backward_hook(lambda m, given, made: seen.append((type(m).__name__, made[0].clone())))
        try:
            layer = torch.nn.ReLU()
            layer(torch.ones(2, requires_grad=True)).sum().backward()
        finally:
            handle.remove()
        return seen

    both(body)
