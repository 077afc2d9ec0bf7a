"""torch.utils.checkpoint with functions that call backward themselves, nested checkpoints, and saved tensors that are read outside of
backward."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


def _checkpoint(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def _checkpointed(torch: Any, function: Any) -> Any:
    return lambda x: _checkpoint(torch).checkpoint(function, x, use_reentrant=False)


def _gradient(torch: Any, function: Any) -> Any:
    def wrapped(x: Any) -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(function(x), x, create_graph=True)[0]

    return wrapped


def _summed(torch: Any, function: Any) -> Any:
    return lambda x: function(x).sum()


STACKS = {  # from the inside
    "g": "g", "cg": "cg", "gc": "gc", "cgc": "cgc", "gcg": "gcg", "cgcg": "cgcg", "ccgg": "ccgg", "gcgc": "gcgc", "cgcgc": "cgcgc", "ccgccg": "ccgccg",
}  # fmt: skip


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("stack", STACKS)
def test_stacks_of_checkpoints_and_gradients(both: Both, stack: str, early_stop: bool) -> None:
    def body(torch: Any) -> Any:
        function: Any = lambda x: x.sin().exp().sin()
        for kind in stack:
            function = _checkpointed(torch, function) if kind == "c" else _gradient(torch, _summed(torch, function))
        x = torch.tensor([0.3, 1.2], dtype=torch.float64, requires_grad=True)
        with _checkpoint(torch).set_checkpoint_early_stop(early_stop):
            result = function(x).sum()
            result.backward()
        return result, x.grad

    both(body)


def test_saved_tensors_outside_of_backward_are_computed_each_time(both: Both) -> None:
    def body(torch: Any) -> Any:
        counts = []

        def function(x: Any) -> Any:
            counts.append(1)
            return torch.exp(x * x)

        x = torch.arange(3.0, requires_grad=True)
        result = _checkpoint(torch).checkpoint(function, x, use_reentrant=False)
        seen = [len(counts)]
        for _ in range(2):
            saved = result.grad_fn._saved_result
            seen.append(len(counts))
        result.sum().backward()
        return seen, len(counts), saved, x.grad

    both(body)
