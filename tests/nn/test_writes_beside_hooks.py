"""Inputs and outputs of a module with backward hooks are views of a custom function's, which refuse writes; dropout that drops nothing."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

HOOKS = ("register_full_backward_hook", "register_full_backward_pre_hook")
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda torch, y: y,
    "add_": lambda torch, y: y.add_(1),
    "view": lambda torch, y: y[0].add_(1),
    "relu_": lambda torch, y: torch.relu_(y),
    "setitem": lambda torch, y: y.__setitem__(0, 5.0),
    "detach_": lambda torch, y: y.detach_(),
    "no_grad": lambda torch, y: torch.no_grad()(lambda: y.add_(1))(),
    "data": lambda torch, y: y.data.add_(1),
    "clone": lambda torch, y: y.clone().add_(1),
    "out": lambda torch, y: torch.add(y, 1, out=y),
}


def results(torch: Any, module: Any, hook: str, inputs: tuple[Any, ...], write: Callable[[Any, Any], Any]) -> Any:
    """Return the outputs, their attributes, and the gradients after a write to the first output."""
    getattr(module, hook)(lambda *args: None)
    outputs = module(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    write(torch, outputs[0])
    outputs[0].sum().backward()
    return [*outputs, [(y._is_view(), y.grad_fn.name() if y.grad_fn else None) for y in outputs], [x.grad for x in inputs if x.is_leaf]]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", ["computed", "passed", "pair", "passed pair"])
def test_writes_to_outputs(both: Any, hook: str, write: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        class Module(torch.nn.Module):
            def forward(self, *x: Any) -> Any:
                y = x if "passed" in kind else tuple(t * 2 for t in x)
                return y if "pair" in kind else y[0]

        inputs = tuple(torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(2 if "pair" in kind else 1))
        return results(torch, Module(), hook, inputs, WRITES[write])

    both(body)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("inside", ["x.mul_(2)", "x.__setitem__(0, 3.0)", "x[1:].zero_()", "torch.relu_(x)"])
def test_writes_to_inputs(both: Any, hook: str, inside: str) -> None:
    def body(torch: Any) -> Any:
        class Module(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                eval(inside, {"torch": torch, "x": x})
                return x * 2

        return results(torch, Module(), hook, (torch.tensor([1.0, -2.0], requires_grad=True) * 1,), WRITES["nothing"])

    both(body)


@pytest.mark.parametrize("with_pre", [False, True])
def test_unused_outputs_send_zeros(both: Any, with_pre: bool) -> None:
    def body(torch: Any) -> Any:
        class Module(torch.nn.Module):
            def forward(self, a: Any, b: Any) -> Any:
                return a * 2, b * 3

        module, seen = Module(), []
        module.register_full_backward_hook(lambda m, given, of: seen.append((given, of)))
        if with_pre:
            module.register_full_backward_pre_hook(lambda m, of: seen.append(of))
        a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True, dtype=torch.float64)
        module(a, b)[0].sum().backward()
        return seen, a.grad, b.grad

    both(body)


DROPOUTS = ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d")


@pytest.mark.parametrize("name", DROPOUTS)
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("training", [True, False])
def test_dropout_in_place(both: Any, name: str, p: float, training: bool) -> None:
    """In-place dropout that drops nothing does not count as a write, neither to a leaf nor to a tensor that backward needs."""

    def body(torch: Any) -> Any:
        drop = getattr(torch.nn.functional, name)
        shape = (2, 3, 4, 5, 2) if name == "dropout3d" else (2, 3, 4, 5) if name == "dropout2d" else (2, 3, 4)
        of_leaf = torch.ones(shape, requires_grad=True)
        x = torch.ones(shape, requires_grad=True)
        y = x.exp()
        torch.manual_seed(0)
        z = drop(y, p, training, True)
        found = [z is y, y._version > 0, drop(torch.ones(0, 3, 4, 5, 2)[(..., *(0,) * (5 - len(shape)))], p, training, True)]
        try:
            z.sum().backward()
        except RuntimeError:
            found.append("refused")
        return [*found, x.grad, drop(of_leaf, p, training, True) is of_leaf]

    both(body)
