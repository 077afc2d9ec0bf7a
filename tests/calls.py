"""Count the Python functions that a call runs: a measure of the host's work that does not depend on the machine's load."""
from __future__ import annotations

import collections
import json
import sys
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn

F = nn.functional


def calls_of(function: Callable[[], object], warm: int = 3) -> collections.Counter[str]:
    """Return the calls of Python functions in a call of ``function``, by file and name, after ``warm`` calls."""
    for _ in range(warm):
        function()
    calls: collections.Counter[str] = collections.Counter()

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            calls[f"{frame.f_code.co_filename}:{frame.f_code.co_name}"] += 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


class _Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def _turned(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.before, self.after = _Norm(width), _Norm(width)

    def forward(self, x, cos, sin):
        batch, tokens, width = x.shape
        h = self.before(x)
        q, k, v = (f(h).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(_turned(q, cos, sin), _turned(k, cos, sin), v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        h = self.after(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """A Llama of two layers, of width 64 with four heads, for 32 tokens of a vocabulary of 1,000."""

    def __init__(self, width: int = 64, heads: int = 4, words: int = 1000, tokens: int = 32) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([_Block(width, heads), _Block(width, heads)])
        self.norm, self.head = _Norm(width), nn.Linear(width, words, bias=False)
        size = width // heads // 2
        angles = torch.arange(tokens)[:, None] / 10000 ** (torch.arange(size) / size)
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def forward(self, words):
        x = self.table(words)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


def step_of_llama(device: str = "cpu") -> Callable[[], object]:
    """Return a training step of the Llama with AdamW, as a function without arguments."""
    torch.manual_seed(0)
    model = Llama().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    words, targets = torch.randint(0, 1000, (2, 32)).to(device), torch.randint(0, 1000, (64,)).to(device)

    def step() -> object:
        loss = F.cross_entropy(model(words).view(-1, 1000), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def _cases() -> dict[str, Callable[[], object]]:
    x, y, row = torch.rand(3, 4), torch.rand(3, 4), torch.randn(4, 5)
    layer, images = nn.BatchNorm2d(8), torch.randn(2, 8, 6, 6)
    attention, sentences = nn.MultiheadAttention(16, 2, batch_first=True), torch.randn(2, 4, 16)
    cases: dict[str, Callable[[], object]] = {
        "a step of a Llama": step_of_llama(), "x[0].add_(1)": lambda: row[0].add_(1), "BatchNorm2d": lambda: layer(images),
        "MultiheadAttention": lambda: attention(sentences, sentences, sentences),
    }  # fmt: skip
    compiled, a, b = torch.compile(lambda a, b: (a + b).relu().sum(), backend="mindspore"), torch.ones(4, 4), torch.ones(4, 4)
    cases["a warm call of a graph"] = lambda: compiled(a, b)
    for name in ("add_", "sub_", "mul_", "div_"):
        cases[f"{name} of a number"] = lambda name=name: getattr(x, name)(1.5)
        cases[f"{name} of a tensor"] = lambda name=name: getattr(x, name)(y)
    return cases | _small_cases()


def _small_cases() -> dict[str, Callable[[], object]]:
    """Return small operations of the most frequent kinds, each with the layers and checks that a program's call passes."""
    x, y, row, bias = torch.randn(16, 16), torch.randn(16, 16), torch.ones(16), torch.zeros(16)
    places, order, classes, mask, out = torch.arange(0, 16, 2), torch.randn(16, 16).argsort(1), torch.arange(16), x > 0, torch.empty(16, 16)
    images, kernels, pointwise = torch.randn(2, 8, 6, 6), torch.randn(8, 8, 3, 3), torch.randn(8, 8, 1, 1)
    cell, state, element = nn.GRUCell(16, 16).requires_grad_(False), torch.zeros(16, 16), torch.tensor([1.5])
    cases: dict[str, Callable[[], object]] = {
        "add": lambda: x + y, "add a number": lambda: x + 2.5, "add, out=": lambda: torch.add(x, y, out=out), "exp": lambda: x.exp(),
        "relu": lambda: F.relu(x), "silu": lambda: F.silu(x), "softmax": lambda: x.softmax(-1), "log_softmax": lambda: x.log_softmax(-1),
        "sum": lambda: x.sum(), "mean": lambda: x.mean(-1, keepdim=True), "max": lambda: x.max(1), "cumsum": lambda: x.cumsum(1),
        "topk": lambda: x.topk(5, 1), "cat": lambda: torch.cat([x, y], 1), "stack": lambda: torch.stack([x, y]), "matmul": lambda: x @ y,
        "linear": lambda: F.linear(x, y, bias), "layer_norm": lambda: F.layer_norm(x, (16,), row, bias), "rows": lambda: x[places],
        "gather": lambda: x.gather(1, order), "where": lambda: torch.where(mask, x, y), "cross_entropy": lambda: F.cross_entropy(x, classes),
        "conv2d": lambda: F.conv2d(images, kernels, None, (1, 1), (1, 1)), "pointwise": lambda: F.conv2d(images, pointwise),
        "item": lambda: element.item(), "x[i]": lambda: x[3], "GRUCell": lambda: cell(x, state),
    }  # fmt: skip
    return {f"{name}, small": case for name, case in cases.items()}


if __name__ == "__main__":  # in a process of its own, where no mode is on and no lazy conjugate is alive, for which calls look otherwise
    torch.set_num_threads(1)
    counted = {}
    for name, case in _cases().items():
        calls = calls_of(case)
        counted[name] = calls.total(), calls.most_common(20)
    print(json.dumps(counted))
