"""Hooks around the accumulation into a leaf: their order and arguments, at the first gradient and at later ones."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]
KINDS = ("tensor", "before", "post", "node")


def _register(torch: Any, leaf: Any, node: Any, kind: str, seen: list[Any]) -> None:
    def told(value: Any) -> Any:
        return None if value is None else value.detach().clone()

    def on_tensor(grad: Any) -> Any:
        seen.append((kind, told(grad)))
        return grad - 2

    def before(grads: Any) -> Any:
        seen.append((kind, told(grads[0])))
        return (grads[0] / 4,)

    def post(tensor: Any) -> None:
        seen.append((kind, told(tensor.grad)))
        tensor.grad.add_(0.5)

    def on_node(inputs: Any, outputs: Any) -> None:
        seen.append((kind, inputs, told(outputs[0]), told(leaf.grad)))
        leaf.grad = outputs[0] * 10

    where = {
        "tensor": (leaf.register_hook, on_tensor), "before": (node.register_prehook, before),
        "post": (leaf.register_post_accumulate_grad_hook, post), "node": (node.register_hook, on_node),
    }  # fmt: skip
    register, hook = where[kind]
    register(hook)


@pytest.mark.parametrize("order", list(itertools.permutations(KINDS))[::5])
def test_the_order_does_not_depend_on_the_registration(both: Both, order: tuple[str, ...]) -> None:
    def body(torch: Any) -> Any:
        leaf, seen = torch.ones(3, requires_grad=True), []
        node = leaf.view_as(leaf).grad_fn.next_functions[0][0]
        for kind in order:
            _register(torch, leaf, node, kind, seen)
        for _ in range(2):
            (leaf * torch.arange(3.0)).sum().backward()
        return [kind for kind, *_ in seen], seen, leaf.grad

    both(body)


@pytest.mark.parametrize("kinds", list(itertools.combinations(KINDS, 2)))
@pytest.mark.parametrize("create_graph", [False, True])
def test_pairs(both: Both, kinds: tuple[str, str], create_graph: bool) -> None:
    def body(torch: Any) -> Any:
        leaf, seen = torch.ones(3, requires_grad=True), []
        node = leaf.view_as(leaf).grad_fn.next_functions[0][0]
        for kind in kinds:
            if create_graph and kind == "post":
                continue  # it writes to a gradient that has a history
            _register(torch, leaf, node, kind, seen)
        (leaf * leaf).sum().backward(create_graph=create_graph)
        (leaf * 3).sum().backward(create_graph=create_graph)
        return seen, leaf.grad.detach()

    both(body)


def test_zeros_for_unused_inputs_can_be_differentiated(both: Both) -> None:
    def body(torch: Any) -> Any:
        x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
        first = torch.autograd.grad(x * a, x, create_graph=True)
        seen = []
        for create_graph in (False, True):
            (zeros,) = torch.autograd.grad(first, x, create_graph=create_graph, retain_graph=True, materialize_grads=True)
            seen.append((zeros, zeros.requires_grad, zeros.is_leaf))
        return seen, torch.autograd.grad(zeros, x, materialize_grads=True)

    both(body)


@pytest.mark.parametrize("materialize", [True, False])
def test_zeros_for_outputs_that_are_not_differentiable(both: Both, materialize: bool) -> None:
    def body(torch: Any) -> Any:
        seen = []

        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                one, other = x.clone(), x.clone()
                ctx.mark_non_differentiable(other)
                ctx._materialize_non_diff_grads = materialize
                return one, other

            @staticmethod
            def backward(ctx: Any, first: Any, second: Any) -> Any:
                seen.append(second)
                return first

        x = torch.ones(2, requires_grad=True)
        Two.apply(x)[0].sum().backward()
        return seen, x.grad

    both(body)
