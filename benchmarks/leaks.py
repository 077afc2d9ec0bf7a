"""Which operations grow the process with each call, and do 3,000 training steps of a Transformer, an LSTM and a CNN?"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import gc
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import in_process, print_table
from networks import NETWORKS


def resident_bytes() -> int:
    """The memory of this process that is in RAM."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def _growth(call: Callable[[], Any], count: int) -> dict[str, float]:
    for _ in range(300):
        call()
    gc.collect()
    before, start = resident_bytes(), time.perf_counter()
    for _ in range(count):
        call()
    seconds = time.perf_counter() - start
    gc.collect()
    return {"KB": (resident_bytes() - before) / 1024 / count, "us": seconds / count * 1e6}


def _cases() -> dict[str, Callable[[], Any]]:
    import mstorch as torch

    functional = torch.nn.functional
    a, b, bias = torch.randn(64, 128), torch.randn(32, 128), torch.randn(32)
    images, filters = torch.randn(8, 4, 8, 8), torch.randn(8, 4, 3, 3)
    logits, labels = torch.randn(64, 10), torch.zeros(64, dtype=torch.int64)
    weight = torch.randn(32, 128, requires_grad=True)
    trained = torch.randn(8, 4, 3, 3, requires_grad=True)
    trained_logits = torch.randn(64, 10, requires_grad=True)

    def backward(leaf: Any, result: Any) -> None:
        result.sum().backward()
        leaf.grad = None

    return {
        "add": lambda: a + a,
        "relu": lambda: torch.relu(a),
        "sum": lambda: a.sum(0),
        "linear, no bias (MatMul)": lambda: functional.linear(a, b),
        "linear (MatMul, bias)": lambda: functional.linear(a, b, bias),
        "conv2d": lambda: functional.conv2d(images, filters),
        "max_pool2d": lambda: functional.max_pool2d(images, 2),
        "softmax": lambda: torch.softmax(logits, 1),
        "log_softmax": lambda: torch.log_softmax(logits, 1),
        "cat": lambda: torch.cat([a, a]),
        "cross_entropy and backward": lambda: backward(trained_logits, functional.cross_entropy(trained_logits, labels)),
        "linear and backward": lambda: backward(weight, functional.linear(a, weight)),
        "conv2d and backward (filters)": lambda: backward(trained, functional.conv2d(images, trained)),
    }


def _seconds_of_machine() -> float:
    """Time for a fixed piece of NumPy's work: what of a slowdown is the machine's own."""
    rows = np.ones((256, 256), np.float32)
    start = time.perf_counter()
    for _ in range(20):
        np.tanh(rows @ rows)
    return time.perf_counter() - start


def _training(name: str) -> dict[str, float]:
    """3,000 steps of a network: growth after the first 200, and the last hundred steps beside the hundred after these."""
    import mstorch as torch

    torch.manual_seed(0)
    model, inputs, targets, loss, optimizer = NETWORKS[name](torch)
    times, machine = [], []
    for step in range(3000):
        if step == 200:
            gc.collect()
            before = resident_bytes()
        start = time.perf_counter()
        optimizer.zero_grad()
        loss(model(*inputs), targets).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
        machine.append(_seconds_of_machine() if 200 <= step < 300 or step >= 2900 else 0.0)
    gc.collect()
    first, last, own, at_last = (statistics.median(part) for part in (times[200:300], times[-100:], machine[200:300], machine[-100:]))
    return {
        "MB": (resident_bytes() - before) / 1e6,
        "ms at first": first * 1e3, "ms at last": last * 1e3, "last / first": last / first, "of the machine": at_last / own,
    }  # fmt: skip


def main() -> None:
    names = in_process(__file__, ["names"])["names"]
    rows = []
    for name in names:
        found = in_process(__file__, ["case", name])
        rows.append([name, round(found["KB"], 2), round(found["us"], 1)])
    print_table(["call", "KB a call", "µs a call"], rows)
    print("\n3,000 training steps, after the first 200")
    found = {name: in_process(__file__, ["training", name]) for name in ("encoder", "lstm", "cnn")}
    print_table(["network", *found["cnn"]], [[name, *(round(value, 3) for value in row.values())] for name, row in found.items()])


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        print(json.dumps({"names": list(_cases())}))
    elif sys.argv[1:2] == ["case"]:
        print(json.dumps(_growth(_cases()[sys.argv[2]], 3000)))
    elif sys.argv[1:2] == ["training"]:
        print(json.dumps(_training(sys.argv[2])))
    else:
        main()
