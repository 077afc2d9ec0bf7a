"""What does torch.compile do to a training step: eager and compiled, mstorch and torch.

Each of the four runs in a process of its own, in turn, three rounds; medians and the time of the first call are printed.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import in_process, median_ms, print_table

BATCH, ROUNDS = 64, 3
KINDS = ("mstorch", "mstorch compiled", "torch", "torch compiled")
NETWORKS = {"mlp": "MLP 784-512-512-10", "cnn": "digits CNN", "transformer": "Transformer encoder 2×32"}


def _network(torch: Any, name: str) -> tuple[Any, Any]:
    nn = torch.nn
    random = np.random.RandomState(0)
    shape = {"mlp": (784,), "cnn": (1, 8, 8), "transformer": (8, 8)}[name]
    if name == "mlp":
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    elif name == "cnn":
        model = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
        )  # fmt: skip
    else:
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        model = nn.Sequential(nn.Linear(8, 32), encoder, nn.Flatten(), nn.Linear(256, 10))
    return model, torch.from_numpy(random.rand(BATCH, *shape).astype(np.float32))


def _step(torch: Any, name: str, compiled: bool) -> Callable[[], Any]:
    torch.manual_seed(0)
    model, inputs = _network(torch, name)
    labels = torch.from_numpy(np.random.RandomState(1).randint(0, 10, BATCH).astype(np.int64))
    run = torch.compile(model, fullgraph=True) if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(run(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _measure(kind: str, name: str) -> dict[str, Any]:
    library, _, compiled = kind.partition(" ")
    torch = __import__(library)
    step = _step(torch, name, bool(compiled))
    start = time.perf_counter()
    try:
        step()
    except Exception as error:  # torch needs a C++ compiler; its absence has many errors
        if kind != "torch compiled":
            raise
        return {"missing": f"none: {type(error).__name__}"}
    first = time.perf_counter() - start
    return {"ms": median_ms(step, warmup=20, repeats=80), "first": first}


def main() -> None:
    for name, title in NETWORKS.items():
        found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
        for _ in range(ROUNDS):
            for kind in KINDS:
                found[kind].append(in_process(__file__, [kind, name]))
        rows: list[list[Any]] = []
        eager = float(np.median([run["ms"] for run in found["mstorch"]]))
        for kind in KINDS:
            missing = next((run["missing"] for run in found[kind] if "missing" in run), None)
            if missing is not None:
                rows.append([kind, missing, "-", "-"])
                continue
            taken = float(np.median([run["ms"] for run in found[kind]]))
            rows.append([kind, taken, taken / eager, float(np.median([run["first"] for run in found[kind]]))])
        print(f"\n{title}, batch {BATCH}")
        print_table(["", "ms a step", "/ mstorch eager", "first step, s"], rows)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(_measure(*sys.argv[1:])))
    else:
        main()
