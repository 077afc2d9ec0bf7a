"""Random numbers against torch, each library in a process of its own: one million float32, and small draws."""
from __future__ import annotations

import sys

# The folder of this script goes last: in front, its name would stand for the standard library's random.
sys.path.append(sys.path.pop(0))

import importlib
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from _measure import in_process, print_table

MILLION = 1_000_000
# torch and mstorch: what the ratio may be at the most.
LIMITS = {
    "rand": 1.0, "randint": 1.0, "bernoulli": 1.0, "dropout": 1.0, "exponential": 1.0, "randperm": 2.0, "randn": 3.0,
    "rand(3)": 10.0, "randn(16)": 10.0,
}  # fmt: skip


def _cases(torch: Any) -> dict[str, Callable[[], Any]]:
    buffer = torch.empty(MILLION)
    ones = torch.ones(MILLION)
    return {
        "rand": lambda: torch.rand(MILLION),
        "randint": lambda: torch.randint(1000, (MILLION,)),
        "bernoulli": lambda: buffer.bernoulli_(0.3),
        "dropout": lambda: torch.nn.functional.dropout(ones, 0.3),
        "exponential": lambda: buffer.exponential_(),
        "randperm": lambda: torch.randperm(MILLION),
        "randn": lambda: torch.randn(MILLION),
        "rand(3)": lambda: torch.rand(3),
        "randn(16)": lambda: torch.randn(16),
    }


def _measure(library: str) -> dict[str, float]:
    torch = importlib.import_module(library)
    found = {}
    with torch.no_grad():
        for name, call in _cases(torch).items():
            count = 2000 if "(" in name else 5
            times = []
            for _ in range(9):
                start = time.perf_counter()
                for _ in range(count):
                    call()
                times.append((time.perf_counter() - start) / count)
            found[name] = statistics.median(times) * 1e6
    return found


def main() -> None:
    rounds: dict[str, dict[str, list[float]]] = {}
    for _ in range(3):
        for library in ("torch", "mstorch"):
            for name, value in in_process(__file__, ["measure", library]).items():
                rounds.setdefault(name, {}).setdefault(library, []).append(value)
    rows = []
    for name, taken in rounds.items():
        theirs, ours = (statistics.median(taken[library]) for library in ("torch", "mstorch"))
        rows.append([name, theirs, ours, ours / theirs, LIMITS[name]])
    print_table(["", "torch, µs", "mstorch, µs", "ratio", "limit"], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(_measure(sys.argv[2])))
    else:
        main()
