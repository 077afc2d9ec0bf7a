"""Signals against every native kernel that mstorch calls, and Ctrl-C in training loops of wide layers.

    python -m tests.signals 60 2000  # so many seconds for each kernel and size: every instruction set that the processor has, one
                                     # thread and two (60 take a day); then Ctrl-C in so many training loops; the exit code says whether
                                     # all was well. ``0 2000`` for the loops alone, ``60 0`` for the kernels alone

Kernels run in processes of their own, for what a signal breaks may end them: a handler that does nothing is called 2,000 times a second,
and every result is held against one that was not disturbed. Processes have no faulthandler, which gives handlers a stack of their own.
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn
from tests import threads
from tests.native_kernels import kernels

SIZES = (96, 400, 700)
PERIOD = 0.0005
INSTRUCTIONS = ("AVX2", "AVX512_CORE", "")  # the last one: the library's own choice
WANTED_LOOPS = 2000


def _same(one: Any, other: Any) -> bool:
    pairs = zip(one, other) if isinstance(one, list) else [(one, other)]
    return all(torch.equal(a, b) for a, b in pairs)


def disturb(seconds: float, count: int, sizes: tuple[int, ...] = SIZES, only: str = "") -> int:
    """Call each kernel of each size under signals for some seconds, on some threads; return the number of kernels with other results."""
    torch.set_num_threads(count)
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    work = [(name, n, call) for n in sizes for name, call in kernels(n) if only in name]
    wrong = calls = 0
    for name, n, call in work:
        want = call()
        print(f"{name}, {n}", flush=True)  # the last one says how the process ended
        end = time.monotonic() + seconds
        signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
        same = True
        while same and time.monotonic() < end:
            same = _same(call(), want)
            calls += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        wrong += not same
        if not same:
            print(f"other results: {name}, {n}", flush=True)
    print(f"{len(work)} kernels, {calls} calls")
    return wrong


def disturbed(seconds: float, instructions: str, count: int, *rest: str) -> str:
    """Return what went wrong in a process that uses some instructions under signals, or the number of correct calls."""
    environment = {name: value for name, value in os.environ.items() if name not in ("ONEDNN_MAX_CPU_ISA", "PYTHONFAULTHANDLER")}
    if instructions:
        environment["ONEDNN_MAX_CPU_ISA"] = instructions
    command = [sys.executable, "-m", "tests.signals", "--kernels", str(seconds), str(count), *rest]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("other results")]
    if run.returncode and not wrong:
        wrong = [f"ended with {run.returncode} in {lines[-1] if lines else 'its import'}: {run.stderr[-300:]}"]
    return "; ".join(wrong) or f"well: {lines[-1]}"


class Language(nn.Module):
    """A small GPT over pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(8, 256)
        self.blocks = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"), 2,
            enable_nested_tensor=False,
        )  # fmt: skip
        self.head = nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(self.start(x.squeeze(1)), mask=nn.Transformer.generate_square_subsequent_mask(8))[:, -1])


def _wide() -> Any:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512), nn.Linear(512, 10))


def _convolutional() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(1024, 400), nn.ReLU(), nn.Linear(400, 10),
    )  # fmt: skip


MODELS: tuple[Callable[[], Any], ...] = (_wide, _convolutional, Language)


def made(number: int) -> tuple[Any, Any, Any, Any]:
    """Return a wide model, its optimizer and its data, by the number of the run."""
    torch.manual_seed(number)
    model = MODELS[number % len(MODELS)]()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3), torch.rand(64, 1, 8, 8), torch.randint(0, 10, (64,))


def check_interrupts(loops: int, steps: int = 6) -> list[str]:
    """Return the training loops of wide models that Ctrl-C does not end with KeyboardInterrupt, or that continue with other numbers."""
    return threads.check_interrupts(loops, steps, made, len(MODELS))


def main(seconds: float, loops: int) -> int:
    """Run all; return the number of failures."""
    failures = 0
    for instructions in INSTRUCTIONS if seconds else ():
        for count in (1, 2):
            told = disturbed(seconds, instructions, count)
            print(f"{instructions or 'all instructions'}, {count} threads: {told}", flush=True)
            failures += not told.startswith("well")
    wrong_loops = check_interrupts(loops)
    print(*wrong_loops, sep="\n")
    print(f"Ctrl-C: {loops - len(wrong_loops)} of {loops} training loops raised KeyboardInterrupt and went on to the same numbers")
    return failures + len(wrong_loops)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kernels"]:
        chosen = tuple(int(size) for size in sys.argv[4].split(",")) if len(sys.argv) > 4 else SIZES
        sys.exit(bool(disturb(float(sys.argv[2]), int(sys.argv[3]), chosen, sys.argv[5] if len(sys.argv) > 5 else "")))
    sys.exit(bool(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10, int(sys.argv[2]) if len(sys.argv) > 2 else WANTED_LOOPS)))
