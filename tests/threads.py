"""Threads that train and infer at once, and training that Ctrl-C interrupts.

    python -m tests.threads 20          # 8 threads × 300 steps against runs one after another, 8 threads that infer with one model,
                                        # 20 times each, and Ctrl-C in 50 training loops; the exit code says whether all was well
"""
from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.nn import functional as F

THREADS = 8
STEPS = 300
LOOPS = 50


class Recurrent(nn.Module):
    """An LSTM over the rows of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x.squeeze(1))[0][:, -1])


class Attention(nn.Module):
    """A Transformer layer over the rows of pixels, without dropout: all threads draw from one generator."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x.squeeze(1)).flatten(1))


def _mlp() -> Any:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 10))


def _convolutional() -> Any:
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))


MODELS: tuple[Callable[[], Any], ...] = (_mlp, _convolutional, Recurrent, Attention)
OPTIMIZERS: tuple[Callable[[Any], Any], ...] = (
    lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    lambda p: torch.optim.AdamW(p, lr=1e-3),
)


Make = Callable[[int], tuple[Any, Any, Any, Any]]


def made(number: int) -> tuple[Any, Any, Any, Any]:
    """Return a model, its optimizer and its data, by the number of the run."""
    torch.manual_seed(number)
    model = MODELS[number % len(MODELS)]()
    optimizer = OPTIMIZERS[number // len(MODELS) % len(OPTIMIZERS)](model.parameters())
    return model, optimizer, torch.rand(64, 1, 8, 8), torch.randint(0, 10, (64,))


def step(model: Any, optimizer: Any, images: Any, labels: Any, number: int) -> float:
    """Take a training step; return the loss."""
    rows = slice(number * 16 % 64, number * 16 % 64 + 16)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images[rows]), labels[rows])
    loss.backward()
    with torch.no_grad():
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.item())


def train(run: tuple[Any, Any, Any, Any], steps: int) -> list[float]:
    """Return the losses of a run."""
    return [step(*run, number) for number in range(steps)]


def at_once(functions: list[Callable[[], Any]]) -> list[Any]:
    """Return the results of the functions, each run in a thread of its own; an error for one that raised."""
    found: list[Any] = [None] * len(functions)
    start = threading.Barrier(len(functions))

    def work(place: int) -> None:
        start.wait()
        try:
            found[place] = functions[place]()
        except Exception as error:  # noqa: BLE001 - it is what is reported
            found[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def check_training(steps: int = STEPS, threads: int = THREADS) -> list[str]:
    """Return the differences between models trained in threads at the same time and one after another."""
    want = [train(made(number), steps) for number in range(threads)]
    runs = [made(number) for number in range(threads)]
    got = at_once([lambda run=run: train(run, steps) for run in runs])  # type: ignore[misc]
    wrong = []
    for number, (one, other) in enumerate(zip(want, got)):
        if one != other:
            first = other if isinstance(other, Exception) else next(i for i, (a, b) in enumerate(zip(one, other)) if a != b)
            wrong.append(f"thread {number} ({MODELS[number % len(MODELS)].__name__}): {first!r}")
    return wrong


def check_inference(calls: int = 40, threads: int = THREADS) -> list[str]:
    """Return the differences between results of one model in several threads and in one."""
    wrong = []
    for kind in MODELS:
        torch.manual_seed(0)
        model = kind().eval()
        batches = [torch.rand(16, 1, 8, 8) for _ in range(threads)]

        def infer(batch: Any, model: Any = model) -> list[Any]:
            with torch.no_grad():
                return [model(batch).tolist() for _ in range(calls)]

        want = [infer(batch) for batch in batches]
        got = at_once([lambda batch=batch: infer(batch) for batch in batches])  # type: ignore[misc]
        wrong += [f"{kind.__name__}, thread {number}" for number in range(threads) if want[number] != got[number]]
    return wrong


class Kept:
    """The state of a run before the current step."""

    def __init__(self, run: tuple[Any, Any, Any, Any]) -> None:
        model, optimizer = run[:2]
        self.model = {name: value.clone() for name, value in model.state_dict().items()}
        self.optimizer = {
            "state": {key: {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in item.items()} for key, item in
                      optimizer.state_dict()["state"].items()},
            "param_groups": optimizer.state_dict()["param_groups"],
        }  # fmt: skip

    def restored(self, number: int, make: Make = made) -> tuple[Any, Any, Any, Any]:
        """Return a run that continues from this state."""
        run = make(number)
        run[0].load_state_dict(self.model)
        run[1].load_state_dict(self.optimizer)
        return run


def interrupted(number: int, steps: int, delay: float, make: Make = made) -> list[float] | None:
    """Return the losses of a run that Ctrl-C interrupts after some seconds, and that continues; None if no KeyboardInterrupt came."""
    run, losses, kept = make(number), [], None
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    patience = time.time() + delay + 30
    try:
        timer.start()
        while time.time() < patience:
            if len(losses) == steps:
                run, losses, kept = make(number), [], None
            kept = (Kept(run), len(losses))
            losses = [*losses, step(*run, len(losses))]
        return None
    except KeyboardInterrupt:
        pass
    state, done = kept if kept is not None else (Kept(make(number)), 0)
    run, losses = state.restored(number, make), losses[:done]
    return losses + [step(*run, place) for place in range(len(losses), steps)]


def check_interrupts(loops: int = LOOPS, steps: int = 12, make: Make = made, kinds: int = THREADS) -> list[str]:
    """Return the training loops that Ctrl-C does not end with KeyboardInterrupt, or that continue with other numbers."""
    chance = random.Random(0)
    wrong = []
    wanted = {number: train(make(number), steps) for number in range(kinds)}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores SIGINT
    try:
        for loop in range(loops):
            number = loop % kinds
            losses = interrupted(number, steps, chance.uniform(0.0, 0.3), make)
            if losses is None:
                wrong.append(f"loop {loop}: no KeyboardInterrupt")
            elif losses != wanted[number]:
                wrong.append(f"loop {loop} (run {number}): other losses after the interrupt")
    finally:
        signal.signal(signal.SIGINT, before)
    return wrong


def main(times: int) -> int:
    """Run all; return the number of runs that failed."""
    failures = 0
    for name, check in (("training", check_training), ("inference", check_inference)):
        good = 0
        for turn in range(times):
            wrong = check()
            good += not wrong
            for text in wrong:
                print(f"{name}, run {turn}: {text}", flush=True)
        print(f"{name} in {THREADS} threads: {good} of {times} runs equal to those of one thread", flush=True)
        failures += times - good
    wrong = check_interrupts()
    print(*wrong, sep="\n")
    print(f"Ctrl-C: {LOOPS - len(wrong)} of {LOOPS} training loops raised KeyboardInterrupt and went on to the same numbers")
    return failures + len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)))
