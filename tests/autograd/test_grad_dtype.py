"""``Tensor.grad_dtype``: leaves whose gradients have another dtype than the leaf, or any."""
from __future__ import annotations

import copy
from typing import Any

import pytest

DTYPES = ["own", "none", "float32", "float64", "bfloat16"]


def leaf(torch: Any, name: str, dtype: str = "float32") -> Any:
    x = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)
    if name != "own":
        x.grad_dtype = None if name == "none" else getattr(torch, name)
    return x


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_are_converted(both: Any, name: str, dtype: str) -> None:
    def body(torch: Any) -> Any:
        x, seen = leaf(torch, name, dtype), []
        x.register_hook(lambda gradient: seen.append(gradient.dtype))
        x.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.dtype))
        for _ in range(2):
            (x.float() * 3).sum().backward()
        return [x.grad, x.grad_dtype, seen, torch.autograd.grad((x.expand(3, 2) * 2).sum(), x)[0]]

    both(body)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("given", ["float32", "float64", "int32", "complex64"])
def test_gradients_that_are_assigned(both: Any, name: str, given: str) -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch, name)
        x.grad = torch.ones(2, dtype=getattr(torch, given))
        if given != "complex64":
            (x * 2).sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("make", [
    lambda torch, x: x.detach(), lambda torch, x: torch.nn.Parameter(x), lambda torch, x: copy.deepcopy(x), lambda torch, x: x * 2,
    lambda torch, x: x.requires_grad_(False), lambda torch, x: x.detach_(),
], ids=["detach", "Parameter", "deepcopy", "result", "requires_grad_", "detach_"])  # fmt: skip
def test_it_belongs_to_one_leaf(both: Any, make: Any) -> None:
    both(lambda torch: make(torch, leaf(torch, "float64")).grad_dtype)


@pytest.mark.parametrize("value", ["float", 3, "after"])
def test_what_it_refuses(both: Any, value: Any) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        if value == "after":
            x.sum().backward()
            x.grad_dtype = torch.float64
        x.grad_dtype = value

    both(body)
    both(lambda torch: setattr(torch.ones(2, requires_grad=True) * 2, "grad_dtype", torch.float64))


def test_graphs_that_are_there_already(both: Any) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        x.grad_dtype = torch.float64
        y.sum().backward()
        return x.grad

    both(body)


def test_half_a_network_with_gradients_of_single_precision(both: Any) -> None:
    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).bfloat16()
        for parameter in net.parameters():
            parameter.grad_dtype = torch.float32
        for _ in range(3):
            net(torch.ones(2, 3, dtype=torch.bfloat16)).sum().backward()
        return [parameter.grad for parameter in net.parameters()]

    both(body, rtol=1e-2)
