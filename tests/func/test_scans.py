"""Scans of torch._higher_order_ops compared with torch's: values, strides, gradients, errors."""
from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.against_torch import both


def _named(torch: Any, name: str) -> Any:
    return getattr(importlib.import_module(f"{torch.__name__}._higher_order_ops.{name}"), name)


def _linear(left: Any, right: Any) -> Any:
    return left[0] * right[0], right[0] * left[1] + right[1]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8])
def test_associative_scans(length: int, reverse: bool) -> None:
    def body(torch: Any) -> Any:
        scan = _named(torch, "associative_scan")
        x, y = torch.rand(2, length, 3), torch.rand(2, length, 3)
        found = [scan(_linear, (x, y), dim, reverse=reverse, combine_mode="generic") for dim in (1, -2)]
        powers = torch.rand(length, 2, 2, requires_grad=True)
        products = scan(lambda a, b: a @ b, {"p": powers}, 0, reverse=reverse, combine_mode="generic")["p"]
        products.sum().backward()
        return found, [t.stride() for pair in found for t in pair], products, powers.grad

    both(body)


def _scan(torch: Any) -> Any:
    """Call mstorch's scan; for torch the equivalent loop, because torch compiles its scan, which depends on the process's history."""
    if hasattr(torch.version, "mstorch"):
        return _named(torch, "scan")
    pytree = torch.utils._pytree

    def scan(function: Any, carry: Any, xs: Any, dim: int = 0, reverse: bool = False) -> Any:
        count, found = pytree.tree_leaves(xs)[0].shape[dim], []
        for place in reversed(range(count)) if reverse else range(count):
            carry, one = function(carry, pytree.tree_map(lambda x, place=place: x.select(dim, place), xs))
            found.append(one)
        found = found[::-1] if reverse else found
        return carry, pytree.tree_map(lambda *each: torch.stack(each, 0).movedim(0, dim), *found)

    return scan


def _step(carry: Any, x: Any) -> Any:
    return carry * 0.5 + x, (carry + x) * 2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scans(dim: int, reverse: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.rand(3, 4, 2, requires_grad=True)
        carry, found = _scan(torch)(_step, torch.rand(x.movedim(dim, 0).shape[1:]), x, dim=dim, reverse=reverse)
        (found.sum() + carry.sum()).backward()
        return carry, found, found.stride(), x.grad

    both(body)


def test_scans_of_trees() -> None:
    def body(torch: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            return (carry[0] + x["a"], carry[1] * x["b"]), (carry[0].clone(), x["b"] + 1)

        return _scan(torch)(step, (torch.zeros(2), torch.ones(2)), {"a": torch.rand(3, 2), "b": torch.rand(3, 2)})

    both(body)


@pytest.mark.parametrize("call", [
    lambda torch, scan: scan(_linear, torch.rand(3, 4), 1),
    lambda torch, scan: scan(_linear, torch.rand(3, 4), 5, combine_mode="generic"),
    lambda torch, scan: scan(_linear, torch.rand(0, 2), 0, combine_mode="generic"),
    lambda torch, scan: scan(3, torch.rand(3, 4), 0, combine_mode="generic"),
    lambda torch, scan: scan(_linear, torch.rand(3, 4), 0, 1, combine_mode="generic"),
    lambda torch, scan: scan(_linear, torch.rand(3, 4), 0, combine_mode="other"),
])
def test_associative_scans_raise_torchs_errors(call: Any) -> None:
    both(lambda torch: call(torch, _named(torch, "associative_scan")))


@pytest.mark.parametrize("call", [
    lambda torch, scan: scan(_step, torch.zeros(2), torch.rand(0, 2)),
    lambda torch, scan: scan(3, torch.zeros(2), torch.rand(3, 2)),
    lambda torch, scan: scan(_step, torch.zeros(2), torch.rand(3, 2), reverse=1),
    lambda torch, scan: scan(_step, torch.zeros(2), []),
    lambda torch, scan: scan(_step, [], torch.rand(3, 2)),
    lambda torch, scan: scan(_step, 1.0, torch.rand(3, 2)),
    lambda torch, scan: scan(_step, torch.zeros(2), torch.rand(3, 2), dim=4),
])
def test_scans_raise_torchs_errors(call: Any) -> None:
    both(lambda torch: call(torch, _named(torch, "scan")))
