"""What does the host do for an operation on a device, and for its gradient, outside of kernels? Microseconds of CPU time on the stand-in.

    MSTORCH_FAKE_DEVICE=Ascend python benchmarks/on_device.py [name…]
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import statistics
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._backend import cost

F = torch.nn.functional
_CALLS, _ROUNDS = 40, 25


def _operations() -> tuple[dict[str, Callable[[Any], Any]], list[Any]]:
    """Functions of a tensor by name, and the parameters that they use."""
    torch.manual_seed(0)
    other, weight, bias = torch.randn(16, 16).npu(), torch.randn(16, 16).npu().requires_grad_(), torch.randn(16).npu().requires_grad_()
    table, places, labels = torch.randn(20, 16).npu().requires_grad_(), torch.randint(20, (16,)).npu(), torch.randint(16, (16,)).npu()
    mask = other > 0
    functions: dict[str, Callable[[Any], Any]] = {
        "add": lambda x: x + other, "mul": lambda x: x * other, "mul by a number": lambda x: x * 2.0, "sub": lambda x: x - other, "div": lambda x: x / other,
        "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": lambda x: x.sigmoid(), "tanh": lambda x: x.tanh(), "exp": lambda x: x.exp(),
        "linear": lambda x: F.linear(x, weight, bias), "matmul": lambda x: x @ other, "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
        "layer_norm": lambda x: F.layer_norm(x, (16,), bias, bias), "sum": lambda x: x.sum(), "mean": lambda x: x.mean(-1), "view": lambda x: x.view(-1),
        "transpose": lambda x: x.transpose(0, 1), "slice": lambda x: x[:, 2:8], "cat": lambda x: torch.cat((x, other)), "embedding": lambda x: F.embedding(places, table),
        "cross_entropy": lambda x: F.cross_entropy(x, labels), "masked_fill": lambda x: x.masked_fill(mask, 0.0), "dropout of nothing": lambda x: F.dropout(x, 0.0),
    }  # fmt: skip
    return functions, [weight, bias, table]


def _outside(call: Callable[[], Any]) -> float:
    """Microseconds of a call outside of kernels: the median of some rounds."""
    call()
    rounds = []
    for _ in range(_ROUNDS):
        with cost.counted() as found:
            for _ in range(_CALLS):
                call()
        rounds.append(found.host / _CALLS * 1e6)
    return statistics.median(rounds)


def measured(names: list[str]) -> dict[str, tuple[float, float]]:
    """For each operation the forward pass without a graph, and with one and the backward pass."""
    found = {}
    functions, parameters = _operations()
    for name, function in functions.items():
        if names and name not in names:
            continue
        plain, leaf = torch.randn(16, 16).npu(), torch.randn(16, 16).npu().requires_grad_()

        def forward() -> None:
            with torch.no_grad():
                function(plain)

        slope = torch.ones_like(function(leaf))
        function(leaf).backward(slope)
        reached = [item for item in (leaf, *parameters) if item.grad is not None]

        def both() -> None:
            for item in reached:
                item.grad = None
            function(leaf).backward(slope)

        found[name] = _outside(forward), _outside(both)
    return found


if __name__ == "__main__":
    times = measured(sys.argv[1:])
    for name, (forward, both) in times.items():
        print(f"{name:20} {forward:8.1f} {both:8.1f}")
    print(f"at most 15 µs: {sum(a <= 15 for a, _ in times.values())}, there and back at most 45 µs: {sum(b <= 45 for _, b in times.values())} of {len(times)}")
