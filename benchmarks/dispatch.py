"""Measure an operation, its gradient and a view beside torch: microseconds on 16×16, each library in its own process.

``python benchmarks/dispatch.py cpu`` counts the processor's time, for machines that do other work meanwhile.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import importlib
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from _measure import in_process, print_table

_now = time.process_time if "cpu" in sys.argv else time.perf_counter


def _microseconds(call: Callable[[], Any], count: int) -> float:
    start = _now()
    for _ in range(count):
        call()
    return (_now() - start) / count * 1e6


def _cost(call: Callable[[], Any], count: int = 2000, rounds: int = 15) -> float:
    _microseconds(call, count)
    return statistics.median(_microseconds(call, count) for _ in range(rounds))


def _measure(library: str) -> dict[str, float]:
    torch: Any = importlib.import_module(library)
    torch.set_num_threads(2)
    a, b, leaf = torch.rand(16, 16), torch.rand(16, 16), torch.rand(16, 16, requires_grad=True)

    def chain(operation: Callable[[Any, Any], Any], length: int) -> Callable[[], None]:
        def run() -> None:
            y = leaf
            for _ in range(length):
                y = operation(y, b)
            y.backward(a)
            leaf.grad = None

        return run

    def with_gradient(operation: Callable[[Any, Any], Any]) -> float:
        return (_cost(chain(operation, 11), 200) - _cost(chain(operation, 1), 200)) / 10

    net = torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, target = torch.rand(64, 784), torch.randint(0, 10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()

    return {
        "add": _cost(lambda: a + b),
        "add with its gradient": with_gradient(lambda y, b: y + b),
        "mul with its gradient": with_gradient(lambda y, b: y * b),
        "a slice": _cost(lambda: a[1:3]),
        "a transposition": _cost(lambda: a.t()),
        "an MLP's training step": _cost(step, 20),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(_measure(sys.argv[2])))
    else:
        ours, theirs = (in_process(__file__, ["measure", library, *sys.argv[1:]]) for library in ("mstorch", "torch"))
        print_table(
            ["µs", "mstorch", "torch", "ratio"], [[name, ours[name], theirs[name], ours[name] / theirs[name]] for name in ours]
        )
