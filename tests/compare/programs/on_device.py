"""Training on a device, for ``python -m mstorch compare --device npu``. PLANT=name makes a kernel of the device, or what is done there, wrong."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = sys.argv[1]
PLANT = os.environ.get("PLANT", "") if DEVICE != "cpu" else ""
# The fault of a kernel: its row, and what it does with the right result.
KERNELS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "softmax": ("softmax", lambda result: result * 1.01),
    "gelu": ("gelu", lambda result: result + 0.01),
    "gelu_grad": ("gelu_grad", lambda result: result * 0.98),
    "tanh": ("tanh", lambda result: result * 0.99),
    "embedding": ("embedding", lambda result: result * 1.02),
}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.softmax, self.gelu = nn.Softmax(-1), nn.GELU()
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        x = x + self.out(self.softmax(q @ k.mT * 0.25) @ v)
        return x + self.narrow(self.gelu(self.wide(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30, 16), nn.Parameter(torch.randn(6, 16) * 0.1)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.gate, self.drop, self.head = nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 30)

    def forward(self, tokens):
        x = self.words(tokens) + self.places
        if PLANT == "half":
            x = x.half().float()
        return self.head(self.drop(self.gate(self.blocks(x))))


def plant_in_kernel(name: str) -> None:
    """Make a row of the device give another result in single precision."""
    from mstorch._src.backend.table import kernel

    row, change = KERNELS[name]
    table = kernel(row)
    good = table["float32"]
    table["float32"] = lambda *args: change(good(*args))


def main() -> None:
    torch.manual_seed(0)
    variant = sys.argv[2] if len(sys.argv) > 2 else "adam"
    net = Net()
    net.to(DEVICE)
    if PLANT in KERNELS:
        plant_in_kernel(PLANT)
    if PLANT == "lost write":
        with torch.no_grad():
            net.blocks[1].wide.bias.zero_()
    if PLANT == "hook":
        net.head.register_full_backward_hook(lambda module, given, got: (given[0] * 1.05,))
    kinds = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
    optimizer = kinds[variant](net.parameters(), lr=2e-3 if PLANT == "rate" else 1e-3)
    for step in range(3):
        tokens = torch.randint(30, (4, 6))
        moved = tokens.to(DEVICE) if PLANT != "indices" else tokens.to(DEVICE).flip(0)
        loss = F.cross_entropy(net(moved).flatten(0, 1), tokens.roll(-1, 1).to(DEVICE).flatten())
        size = (net.words.weight.detach().norm() * (1.1 if PLANT == "metric" else 1.0)).item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.4f}, {size:.3f}")


if __name__ == "__main__":
    main()
