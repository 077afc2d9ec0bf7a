"""Signals against every native kernel that mstorch calls, and Ctrl-C in training loops of wide layers.

    python -m tests.signals 60       # for so many seconds each: every instruction set that the processor has, one thread and two;
                                     # then Ctrl-C in 300 training loops; the exit code says whether all was well

Kernels run in processes of their own, for what a signal breaks may end them: a handler that does nothing is called 2,000 times a second,
and every result is held against one that was not disturbed. Processes have no faulthandler, which gives handlers a stack of their own.
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.nn import functional as F
from tests import threads

SIZES = (96, 400, 700)
PERIOD = 0.0005
INSTRUCTIONS = ("AVX2", "AVX512_CORE", "")  # the last: what the library takes by itself
WANTED_LOOPS = 300


def _backward(output: Any, *leaves: Any) -> list[Any]:
    return [output.detach(), *torch.autograd.grad(output, leaves, torch.ones_like(output))]


def _layer(module: Any, x: Any) -> Callable[[], list[Any]]:
    return lambda: _backward(module(x), x, *module.parameters())


def _recurrent(kind: Any, n: int) -> Callable[[], list[Any]]:
    module, x = kind(64, n // 2), torch.rand(6, 8, 64, requires_grad=True)
    return lambda: _backward(module(x)[0], x, *module.parameters())


def _halves(n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is computed in bfloat16 itself."""
    x, row = (torch.rand(*shape).bfloat16().requires_grad_() for shape in ((n, n), (n,)))
    images = torch.rand(2, 16, n // 12, n // 12).bfloat16().requires_grad_()
    few = torch.rand(3, n, n).bfloat16()
    yield "conversions of bfloat16", lambda: [x.detach().float(), x.detach().float().bfloat16()]
    yield "arithmetic of bfloat16", lambda: _backward(x * x + row - 0.5 * x, x, row)
    yield "functions of bfloat16", lambda: _backward(F.gelu(x) + F.silu(x) + torch.exp(x), x)
    yield "linear in bfloat16", _layer(nn.Linear(n, n).bfloat16(), x)
    yield "products of a batch in bfloat16", lambda: few @ few
    yield "sums of bfloat16", lambda: [few.sum(), few.sum(0), few.mean(-1)]
    yield "convolution in bfloat16", _layer(nn.Conv2d(16, 32, 3, padding=1).bfloat16(), images)
    yield "batch_norm in bfloat16", _layer(nn.BatchNorm2d(16).bfloat16(), images)
    yield "layer_norm in bfloat16", _layer(nn.LayerNorm(n).bfloat16(), x)
    yield "softmax in bfloat16", lambda: _backward(F.softmax(x, 1), x)
    yield "attention in bfloat16", lambda: _backward(F.scaled_dot_product_attention(few[None], few[None], few[None] + x), x)


def kernels(n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is called, by name: all kernels for matrices of n rows, or images of about as many elements."""
    torch.manual_seed(n)
    a, b, few = torch.rand(n, n), torch.rand(n, n), torch.rand(3, n, n)
    x, row = torch.rand(n, n, requires_grad=True), torch.rand(n, requires_grad=True)
    images = torch.rand(2, 16, n // 12, n // 12, requires_grad=True)
    symmetric = a + a.t() + n * torch.eye(n)
    small = symmetric[:96, :96]
    yield "matrix product", lambda: a @ b
    yield "matrix product, left transposed", lambda: a.t() @ b
    yield "matrix product, right transposed", lambda: a @ b.t()
    yield "matrix product, in double precision", lambda: a[:200].double() @ b.double()
    yield "products of a batch", lambda: few @ few
    yield "products of a batch, transposed", lambda: few.mT @ few
    yield "linear", _layer(nn.Linear(n, n), x)
    yield "addition of a multiple", lambda: a.clone().add_(b, alpha=-0.1)
    yield "convolution", _layer(nn.Conv2d(16, 32, 3, padding=1), images)
    yield "convolution, strided", _layer(nn.Conv2d(16, 32, 3, stride=2), images)
    yield "convolution, depthwise", _layer(nn.Conv2d(16, 16, 3, groups=16), images)
    yield "convolution, of single pixels", _layer(nn.Conv2d(16, 64, 1), images)
    yield "convolution, transposed", _layer(nn.ConvTranspose2d(16, 16, 2, stride=2), images)
    yield "max_pool2d", lambda: _backward(F.max_pool2d(images, 2), images)
    yield "avg_pool2d", lambda: _backward(F.avg_pool2d(images, 2), images)
    yield "batch_norm", _layer(nn.BatchNorm2d(16), images)
    yield "group_norm", _layer(nn.GroupNorm(4, 16), images)
    yield "layer_norm", _layer(nn.LayerNorm(n), x)
    yield "softmax", lambda: _backward(F.softmax(x, 1), x)
    yield "log_softmax", lambda: _backward(F.log_softmax(x, 1), x)
    yield "relu", lambda: _backward(F.relu(x), x)
    yield "gelu", lambda: _backward(F.gelu(x), x)
    yield "silu", lambda: _backward(F.silu(x), x)
    yield "sigmoid", lambda: _backward(torch.sigmoid(x), x)
    yield "exp and tanh", lambda: _backward(torch.exp(x) * torch.tanh(x) + row, x, row)
    yield "attention", lambda: _backward(F.scaled_dot_product_attention(few, few, few + x), x)
    yield from _halves(n)
    yield "LSTM", _recurrent(nn.LSTM, n)
    yield "GRU", _recurrent(nn.GRU, n)
    yield "sort", lambda: [*torch.sort(a)]
    yield "topk", lambda: [*torch.topk(a, 7)]
    yield "sum, mean, cumsum", lambda: [a.sum(), a.mean(0), a.cumsum(1)]
    yield "index_add", lambda: torch.zeros(n, n).index_add_(0, torch.arange(n).flip(0), a)
    yield "fft", lambda: torch.view_as_real(torch.fft.fft2(a))
    yield "solve", lambda: torch.linalg.solve(symmetric, b)
    yield "cholesky", lambda: torch.linalg.cholesky(symmetric)
    yield "qr", lambda: [*torch.linalg.qr(symmetric)]
    yield "svd", lambda: [*torch.linalg.svd(small)]
    yield "eigh", lambda: [*torch.linalg.eigh(small)]


def _same(one: Any, other: Any) -> bool:
    pairs = zip(one, other) if isinstance(one, list) else [(one, other)]
    return all(torch.equal(a, b) for a, b in pairs)


def disturb(seconds: float, count: int, sizes: tuple[int, ...] = SIZES, only: str = "") -> int:
    """Call each kernel with signals for its share of the seconds, on so many threads; the number of those with other results."""
    torch.set_num_threads(count)
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    work = [(name, n, call) for n in sizes for name, call in kernels(n) if only in name]
    wrong = 0
    for name, n, call in work:
        want = call()
        print(f"{name}, {n}", flush=True)  # the last one says what ended the process
        end = time.monotonic() + seconds / len(work)
        signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
        same = True
        while same and time.monotonic() < end:
            same = _same(call(), want)
        signal.setitimer(signal.ITIMER_REAL, 0)
        wrong += not same
        if not same:
            print(f"other results: {name}, {n}", flush=True)
    return wrong


def disturbed(seconds: float, instructions: str, count: int, *rest: str) -> str:
    """What went wrong in a process that uses some instructions; nothing if all was well."""
    environment = {name: value for name, value in os.environ.items() if name not in ("ONEDNN_MAX_CPU_ISA", "PYTHONFAULTHANDLER")}
    if instructions:
        environment["ONEDNN_MAX_CPU_ISA"] = instructions
    command = [sys.executable, "-m", "tests.signals", "--kernels", str(seconds), str(count), *rest]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("other results")]
    if run.returncode and not wrong:
        wrong = [f"ended with {run.returncode} in {lines[-1] if lines else 'its import'}: {run.stderr[-300:]}"]
    return "; ".join(wrong)


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
    """A wide model, its optimiser and its data, by the number of the run."""
    torch.manual_seed(number)
    model = MODELS[number % len(MODELS)]()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3), torch.rand(64, 1, 8, 8), torch.randint(0, 10, (64,))


def check_interrupts(loops: int, steps: int = 6) -> list[str]:
    """The training loops of wide models that Ctrl-C does not end with KeyboardInterrupt, or that go on to other numbers."""
    return threads.check_interrupts(loops, steps, made, len(MODELS))


def main(seconds: float) -> int:
    """Run all; the number of what was wrong."""
    failures = 0
    for instructions in INSTRUCTIONS:
        for count in (1, 2):
            wrong = disturbed(seconds, instructions, count)
            print(f"{instructions or 'all instructions'}, {count} threads: {wrong or 'well'}", flush=True)
            failures += bool(wrong)
    wrong_loops = check_interrupts(WANTED_LOOPS)
    print(*wrong_loops, sep="\n")
    print(f"Ctrl-C: {WANTED_LOOPS - len(wrong_loops)} of {WANTED_LOOPS} training loops raised KeyboardInterrupt and went on to the same numbers")
    return failures + len(wrong_loops)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kernels"]:
        chosen = tuple(int(size) for size in sys.argv[4].split(",")) if len(sys.argv) > 4 else SIZES
        sys.exit(bool(disturb(float(sys.argv[2]), int(sys.argv[3]), chosen, sys.argv[5] if len(sys.argv) > 5 else "")))
    sys.exit(bool(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)))
