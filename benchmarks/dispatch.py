"""What does mstorch add to a kernel call? ``a + b`` on 4×4, no grad, against the kernel that the table names."""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from _measure import in_process, print_table


def _microseconds(call: Callable[[], Any], count: int = 2000) -> float:
    for _ in range(500):
        call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


def _measure() -> dict[str, Any]:
    import mstorch
    from mstorch._backend.table import kernel

    a, b = mstorch.ones(4, 4), mstorch.ones(4, 4)
    first, second = a.to_mindspore(), b.to_mindspore()
    bare = kernel("add")["float32"]
    pairs = []
    with mstorch.no_grad():
        for _ in range(45):
            pairs.append((_microseconds(lambda: bare(first, second)), _microseconds(lambda: a + b)))
    return {
        "kernel": statistics.median(k for k, _ in pairs),
        "a + b": statistics.median(w for _, w in pairs),
        "cost": statistics.median(w - k for k, w in pairs),
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(_measure()))
    else:
        found = in_process(__file__, ["measure"])
        print_table(["µs a call", "median"], [[name, value] for name, value in found.items()])
