"""Private names of torch.autograd.functional and torch.autograd.function that packages import (pytorch-minimize and others)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {  # (torch, its private functions, two tensors)
    "standard basis": lambda t, f, x, y: f._construct_standard_basis_for((x, y), (3, 2)),
    "standard basis of one": lambda t, f, x, y: f._construct_standard_basis_for((y,), (2,)),
    "detached": lambda t, f, x, y: f._grad_postprocess((x, y), False),
    "detached tuples": lambda t, f, x, y: f._grad_postprocess(((x, y), (x,)), False),
    "kept": lambda t, f, x, y: f._grad_postprocess((x,), True),
    "entered": lambda t, f, x, y: f._grad_preprocess((x, y), create_graph=True, need_graph=True),
    "entered without a graph": lambda t, f, x, y: f._grad_preprocess((x, y), create_graph=False, need_graph=False),
    "many": lambda t, f, x, y: f._tuple_postprocess((x, y), True),
    "one": lambda t, f, x, y: f._tuple_postprocess((x,), False),
    "many of one": lambda t, f, x, y: f._tuple_postprocess(((x,), (y,)), (True, False)),
    "one of many": lambda t, f, x, y: f._tuple_postprocess(((x, y),), (False, True)),
    "a tuple": lambda t, f, x, y: f._as_tuple(x),
    "a tuple of tensors": lambda t, f, x, y: f._as_tuple((x, y), "inputs", "jacobian"),
    "no tensor": lambda t, f, x, y: f._as_tuple(3, "inputs", "jacobian"),
    "gradients": lambda t, f, x, y: f._autograd_grad(((x * 2).sum(), None), (x,)),
    "no gradients": lambda t, f, x, y: f._autograd_grad((y.detach(),), (x,), (y,), create_graph=True, retain_graph=True),
    "zeros": lambda t, f, x, y: f._fill_in_zeros((None,), (x,), False, False, "back"),
    "zeros refused": lambda t, f, x, y: f._fill_in_zeros((None,), (x,), True, False, "back"),
    "a vector": lambda t, f, x, y: f._validate_v((x,), (y,), False),
    "independent": lambda t, f, x, y: f._check_requires_grad((y.detach(),), "outputs", True),
}


@pytest.mark.parametrize("name", CALLS)
def test_private_functions(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(3.0, requires_grad=True)
        return CALLS[name](torch, torch.autograd.functional, x, torch.ones(1, 2, dtype=torch.float64))

    both(body)


def test_nodes_of_functions(both: Any) -> None:
    def body(torch: Any) -> Any:
        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

        node = Same.apply(torch.ones(2, requires_grad=True)).grad_fn
        return isinstance(node, torch.autograd.function.BackwardCFunction), repr(node).partition(" object")[0]

    both(body)
