"""Gradients returned by hooks must have the class and size of the original ones."""
from __future__ import annotations

import pytest

MADE = {
    "size": lambda torch, g: g[:1], "dtype": lambda torch, g: g.double(), "bool": lambda torch, g: g.bool(), "half": lambda torch, g: g.bfloat16(),
    "complex": lambda torch, g: g + 0j, "number": lambda torch, g: 3, "list": lambda torch, g: [g], "tuple": lambda torch, g: (g,),
    "one": lambda torch, g: torch.ones(1, 1), "order": lambda torch, g: g.t(), "sparse": lambda torch, g: g.to_sparse(),
    "layout": lambda torch, g: g.t().contiguous().t() * 2,
}  # fmt: skip


def registered(torch, kind, hook, leaf):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    inner = x if leaf else x * 2
    if kind == "tensor":
        inner.register_hook(hook)
    out = inner * 3
    if kind == "node":
        out.grad_fn.register_hook(lambda given, got: (hook(given[0]), *given[1:]))
    elif kind == "before":
        out.grad_fn.register_prehook(lambda got: (hook(got[0]),))
    elif kind == "bare":
        out.grad_fn.register_hook(lambda given, got: hook(given[0]))
    elif kind == "few":
        out.grad_fn.register_hook(lambda given, got: (given[0],))
    elif kind == "many":
        out.grad_fn.register_prehook(lambda got: ())
    elif kind == "filled":
        out.grad_fn.register_hook(lambda given, got: (given[0], given[0]))
    out.sum().backward()
    return x.grad


@pytest.mark.parametrize("leaf", [False, True])
@pytest.mark.parametrize("kind", ["tensor", "node", "before", "bare"])
@pytest.mark.parametrize("name", MADE)
def test_of_another_type_or_size(both, kind, name, leaf):
    if (kind, name) == ("bare", "sparse"):
        pytest.skip("a sparse tensor has a class of its own, which the message names")
    both(lambda torch: registered(torch, kind, lambda g: MADE[name](torch, g), leaf))


@pytest.mark.parametrize("kind", ["few", "many", "filled"])
def test_of_another_number(both, kind):
    both(lambda torch: registered(torch, kind, None, False))


@pytest.mark.parametrize("name", ["size", "dtype", "layout"])
@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook", "register_backward_hook"])
def test_of_modules(both, kind, name):
    def body(torch):
        module = torch.nn.Tanh()
        if "pre" in kind:
            getattr(module, kind)(lambda m, got: (MADE[name](torch, got[0]),))
        else:
            getattr(module, kind)(lambda m, given, got: (MADE[name](torch, given[0]),))
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        module(x).sum().backward()
        return x.grad

    both(body)


def test_a_sparse_gradient_stays_sparse(both):
    def body(torch):
        module = torch.nn.Embedding(3, 2, sparse=True)
        module.weight.register_hook(lambda g: g.to_dense())
        module(torch.tensor([1])).sum().backward()

    both(body)
