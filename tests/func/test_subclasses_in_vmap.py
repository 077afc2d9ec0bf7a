"""Tensor subclasses within vmap: made there, seen by their ``__torch_function__``, and taken apart where they are mapped."""
from __future__ import annotations

import pytest


def _cases(torch):
    seen = []

    class Own(torch.Tensor):
        tag = "class"

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

        def doubled(self):
            return self * 2

        def dim(self):
            return 99

    def with_attribute(x):
        own = x.as_subclass(Own)
        own.tag = "instance"
        return own * (2.0 if own.tag == "instance" else 0.0)

    return Own, seen, {
        "its calls are seen": lambda x: x.as_subclass(Own) * 2,
        "its methods": lambda x: x.as_subclass(Own).doubled() + x.as_subclass(Own).dim(),
        "results have the class": lambda x: x * (3.0 if isinstance((x.as_subclass(Own) + 1).sum(0), Own) else 1.0),
        "plain again": lambda x: x * (1.0 if isinstance(x.as_subclass(Own).as_subclass(torch.Tensor), Own) else 3.0),
        "an attribute": with_attribute,
        "nested": torch.vmap(lambda x: x.as_subclass(Own) + 1),
        "made of data": lambda x: torch.Tensor._make_subclass(Own, x) * 2,
        "a gradient": torch.func.grad(lambda x: (x.as_subclass(Own) ** 2).sum()),
        "with a plain one": lambda x: torch.cat((x.as_subclass(Own), x)),
    }  # fmt: skip


NAMES = ("its calls are seen", "its methods", "results have the class", "plain again", "an attribute", "nested", "made of data", "a gradient", "with a plain one")


@pytest.mark.parametrize("name", NAMES)
def test_subclasses_made_within(both, name):
    def body(torch):
        own, seen, cases = _cases(torch)
        result = torch.vmap(cases[name])(torch.arange(6.0).reshape(3, 2))
        return [result.as_subclass(torch.Tensor), isinstance(result, own), "mul" in seen or "__mul__" in seen]

    both(body)


def test_what_is_mapped_is_plain_within(both):
    def body(torch):
        own, _, _ = _cases(torch)
        kinds = []
        result = torch.vmap(lambda x: (kinds.append(isinstance(x, own)), x * 2)[1])(torch.arange(6.0).reshape(3, 2).as_subclass(own))
        return [result.as_subclass(torch.Tensor), isinstance(result, own), kinds]

    both(body)


def test_jacobians(both):
    def body(torch):
        own, _, _ = _cases(torch)
        x = torch.arange(6.0).reshape(3, 2)
        return [transform(lambda x: x.as_subclass(own) ** 2)(x).as_subclass(torch.Tensor) for transform in (torch.func.jacrev, torch.func.jacfwd)]

    both(body)


def test_names_that_vmap_needs_are_refused():
    import mstorch as torch

    class Own(torch.Tensor):
        value = 3

    with pytest.raises(NotImplementedError, match="'value', which the class Own uses"):
        torch.vmap(lambda x: x.as_subclass(Own) * 2)(torch.ones(2))
