"""What ``run_all.py`` times within one process, each job written once for whatever library is called torch."""
from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable
from typing import Any

from networks import NETWORKS
from operations import SIDES, WITHOUT_GRADIENT, operations


def median_of(step: Callable[[], Any], seconds: float) -> float:
    """The median time of a call in milliseconds, of at least 7 calls and of as many as ``seconds`` allow, 400 at most."""
    for _ in range(3):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 7 or (time.perf_counter() < end and len(times) < 400):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def training(torch: Any, name: str, compiled: bool = False) -> Callable[[], float]:
    """A training step of a network."""
    model, inputs, target, loss, optimizer = NETWORKS[name](torch)
    run = torch.compile(model) if compiled else model

    def train() -> float:
        optimizer.zero_grad()
        value = loss(run(*inputs), target)
        value.backward()
        optimizer.step()
        return value.item()

    return train


def inference(torch: Any, name: str, compiled: bool = False) -> Callable[[], float]:
    """One pass of a network in evaluation mode, without gradients."""
    model, inputs, *_ = NETWORKS[name](torch)
    run = torch.compile(model) if compiled else model
    model.eval()

    def infer() -> float:
        with torch.no_grad():
            return float(run(*inputs).reshape(-1)[0])

    return infer


def _resident(field: str) -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(field))


def memory(torch: Any, name: str) -> float:
    """How many MB the process grows to in its third training step, above what it held before the network was made."""
    before = _resident("VmRSS")
    step = training(torch, name)
    for _ in range(2):
        step()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew: proc_pid_clear_refs(5)
    step()
    return _resident("VmHWM") - before


def words(torch: Any) -> Callable[[], float]:
    """A Bi-LSTM of 2 × 64 that is fed one word at a time, both ways, a sentence of 20, with its backward and a step of SGD."""
    nn = torch.nn
    embedding, there, back, out = nn.Embedding(500, 64), nn.LSTM(64, 64), nn.LSTM(64, 64), nn.Linear(128, 5)
    optimizer = torch.optim.SGD([p for module in (embedding, there, back, out) for p in module.parameters()], lr=0.01)
    sentence, tags = torch.randint(0, 500, (20,)), torch.randint(0, 5, (20,))

    def read(layer: Any, vectors: list[Any]) -> list[Any]:
        state, outputs = None, []
        for vector in vectors:
            output, state = layer(vector.view(1, 1, -1), state)
            outputs.append(output.view(-1))
        return outputs

    def train() -> float:
        optimizer.zero_grad()
        vectors = list(embedding(sentence))
        both = zip(read(there, vectors), reversed(read(back, vectors[::-1])))
        scores = torch.stack([out(torch.cat(pair)) for pair in both])
        value = nn.functional.cross_entropy(scores, tags)
        value.backward()
        optimizer.step()
        return value.item()

    return train


def dopri8(torch: Any) -> Callable[[], float]:
    """A neural differential equation through torchdiffeq's dopri8 (``pip install --no-deps torchdiffeq``), backward, a step of Adam."""
    from torchdiffeq import odeint

    nn = torch.nn
    field = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
    start, times = torch.randn(20, 2), torch.linspace(0.0, 2.0, 10)

    def train() -> float:
        optimizer.zero_grad()
        value = odeint(lambda t, y: field(y**3), start, times, method="dopri8").abs().mean()
        value.backward()
        optimizer.step()
        return value.item()

    return train


PROGRAMS = {"Bi-LSTM word by word": words, "dopri8": dopri8}


def each_operation(torch: Any, size: str) -> dict[str, float]:
    """Every operation of ``operations.py``, forward and with its gradient."""
    found = {}
    for name, (function, shapes) in operations(torch, SIDES[size]).items():
        plain = [torch.randn(*shape) for shape in shapes]
        with torch.no_grad():
            found[f"{name}, {size}, forward"] = median_of(lambda: function(*plain), 0.1)  # noqa: B023
        if name in WITHOUT_GRADIENT:
            continue
        leaves = [tensor.clone().requires_grad_() for tensor in plain]
        gradient = torch.ones_like(function(*leaves))

        def both() -> None:
            function(*leaves).backward(gradient)  # noqa: B023
            for leaf in leaves:  # noqa: B023
                leaf.grad = None

        found[f"{name}, {size}, with backward"] = median_of(both, 0.15)
    return found


class _Images:
    """1,024 images of 3×224×224, a product for each."""

    def __init__(self, torch: Any) -> None:
        self.images = torch.rand(64, 3, 224, 224)

    def __len__(self) -> int:
        return 1024

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.images[index % 64] * 2.0, index % 10


def others(torch: Any) -> dict[str, float]:
    """Batches, files and random numbers."""
    dataset = torch.utils.data.TensorDataset(torch.randn(2000, 64), torch.randint(0, 10, (2000,)))
    loader = torch.utils.data.DataLoader(dataset, batch_size=50, shuffle=True)
    workers = torch.utils.data.DataLoader(_Images(torch), batch_size=32, num_workers=2)
    persistent = torch.utils.data.DataLoader(_Images(torch), batch_size=32, num_workers=2, persistent_workers=True)
    state = {f"layer{i}": torch.randn(256, 1024) for i in range(16)}

    def epoch(loader: Any = loader) -> None:
        for _ in loader:
            pass

    def file() -> io.BytesIO:
        buffer = io.BytesIO()
        torch.save(state, buffer)
        buffer.seek(0)
        return buffer

    written = file()

    def load() -> None:
        written.seek(0)
        torch.load(written)

    return {
        "DataLoader, 40 batches of 50": median_of(epoch, 1),
        "DataLoader, 1,024 images by 2 workers": median_of(lambda: epoch(workers), 4),
        "DataLoader, 1,024 images by 2 persistent workers": median_of(lambda: epoch(persistent), 4),
        "save 16 MB": median_of(file, 1),
        "load 16 MB": median_of(load, 1),
        "randn 1,000,000": median_of(lambda: torch.randn(1_000_000), 1),
        "randperm 100,000": median_of(lambda: torch.randperm(100_000), 1),
        "dropout of 1,000,000": median_of(lambda: torch.nn.functional.dropout(torch.ones(1_000_000)), 1),
    }
