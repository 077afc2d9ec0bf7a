"""Measure the host's CPU time, outside of kernels, for an operation on the stand-in device, and for its gradient, in microseconds.

    MSTORCH_FAKE_DEVICE=Ascend python benchmarks/on_device.py [name…]
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost

F = torch.nn.functional
_CALLS, _ROUNDS = 40, 25


def _operations() -> tuple[dict[str, Callable[[Any], Any]], list[Any]]:
    """Functions of a tensor by name, and the parameters that they use."""
    torch.manual_seed(0)
    other, weight, bias = torch.randn(16, 16).npu(), torch.randn(16, 16).npu().requires_grad_(), torch.randn(16).npu().requires_grad_()
    gain, table = torch.ones(16).npu().requires_grad_(), torch.randn(20, 16).npu().requires_grad_()
    places, labels = torch.randint(20, (16,)).npu(), torch.randint(16, (16,)).npu()
    mask = other > 0
    functions: dict[str, Callable[[Any], Any]] = {
        "add": lambda x: x + other, "mul": lambda x: x * other, "mul by a number": lambda x: x * 2.0, "sub": lambda x: x - other,
        "div": lambda x: x / other, "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
        "exp": lambda x: x.exp(), "linear": lambda x: F.linear(x, weight, bias), "matmul": lambda x: x @ other,
        "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
        "layer_norm": lambda x: F.layer_norm(x, (16,), gain, bias),
        "sum": lambda x: x.sum(), "mean": lambda x: x.mean(-1), "view": lambda x: x.view(-1), "transpose": lambda x: x.transpose(0, 1),
        "slice": lambda x: x[:, 2:8], "cat": lambda x: torch.cat((x, other)), "embedding": lambda x: F.embedding(places, table),
        "cross_entropy": lambda x: F.cross_entropy(x, labels), "masked_fill": lambda x: x.masked_fill(mask, 0.0),
        "dropout of nothing": lambda x: F.dropout(x, 0.0),
    }  # fmt: skip
    return functions, [weight, gain, bias, table]


def _outside(call: Callable[[], Any]) -> float:
    """Microseconds of a call outside of kernels: the least of some rounds, since other programs disturb."""
    call()
    rounds = []
    for _ in range(_ROUNDS):
        with cost.counted() as found:
            for _ in range(_CALLS):
                call()
        rounds.append(found.host / _CALLS * 1e6)
    return min(rounds)


def _measured(function: Callable[[Any], Any], parameters: list[Any]) -> tuple[float, float]:
    """The forward pass without a graph, and with one and the backward pass."""
    plain, leaf = torch.randn(16, 16).npu(), torch.randn(16, 16).npu().requires_grad_()
    slope = torch.ones_like(function(leaf))
    function(leaf).backward(slope)
    reached = [item for item in (leaf, *parameters) if item.grad is not None]

    def forward() -> None:
        with torch.no_grad():
            function(plain)

    def both() -> None:
        for item in reached:
            item.grad = None
        function(leaf).backward(slope)

    return _outside(forward), _outside(both)


if __name__ == "__main__":
    functions, parameters = _operations()
    times = {name: _measured(function, parameters) for name, function in functions.items() if name in sys.argv[1:] or not sys.argv[1:]}
    for name, (forward, both) in times.items():
        print(f"{name:20} {forward:8.1f} {both:8.1f}")
    few, fewer = sum(forward <= 15 for forward, _ in times.values()), sum(both <= 45 for _, both in times.values())
    print(f"at most 15 µs: {few}, there and back at most 45 µs: {fewer} of {len(times)}")
