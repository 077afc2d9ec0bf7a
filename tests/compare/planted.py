"""A small network of many kinds of layers, as a script for ``python -m mstorch compare``. PLANT=name adds a fault, under mstorch only."""
from __future__ import annotations

import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

PLANT = os.environ.get("PLANT", "")
MINE = hasattr(torch.version, "mstorch")


def planted(name: str) -> bool:
    """Return whether this run has the fault."""
    return MINE and PLANT == name


class Swish(torch.autograd.Function):
    """x * sigmoid(x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return gradient * (s * (1 + x * (1 - s)) if not planted("function") else s)


class Activation(nn.Module):
    def forward(self, x):
        return Swish.apply(x)


class Drop(nn.Dropout):
    def forward(self, x):
        found = super().forward(x)
        if planted("draw"):
            torch.rand(1)
        return found


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        if planted("activation"):
            y = y + 0.01 * y.mean()
        y = self.bn2(self.conv2(y))
        return torch.relu(x + (y.detach() if planted("detached") else y))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        return self.out(torch.softmax(scores, -2 if planted("dimension") else -1) @ v)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.blocks = nn.Sequential(Block(8), Block(8), Block(8))
        self.attention = Attention(8)
        self.norm = nn.LayerNorm(8)
        self.activation = Activation()
        self.drop = Drop(0.1)
        self.skipped = nn.Linear(8, 8)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.blocks(self.stem(x)).flatten(2).transpose(1, 2)
        x = self.drop(self.activation(self.norm(x + self.attention(x))))
        if not planted("skip"):
            x = self.skipped(x)
        return self.head(x.mean(1))


class SGD(torch.optim.SGD):
    def step(self, closure=None):
        found = super().step(closure)
        if planted("step"):
            with torch.no_grad():
                self.param_groups[0]["params"][-1].add_(0.05)
        return found


def main() -> None:
    device = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cpu"
    net = Net()
    if planted("eps"):
        net.blocks[1].bn2.eps = 1e-2
    if planted("weight"):
        with torch.no_grad():
            net.blocks[2].conv1.weight[0, 0, 0, 0] += 0.05
    if planted("eval"):
        net.blocks[0].bn1.eval()
    net.to(device)
    if PLANT == "device" and device != "cpu" or planted("kernel"):
        plant_in_kernel(device)
    optimizer = SGD(net.parameters(), lr=0.05, momentum=0.9)
    if planted("momentum"):
        optimizer.param_groups[0]["momentum"] = 0.8
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4 if planted("scheduler") else 5)
    x, target = torch.randn(64, 1, 8, 8), torch.randint(0, 10, (64,))
    for step in range(10):
        start = step % 4 * 16
        rows = slice(start, start + 16) if not planted("data") or step < 2 else slice(0, 16)
        loss = F.cross_entropy(net(x[rows].to(device)), target[rows].to(device), label_smoothing=0.1 if planted("loss") else 0.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(loss.item())


def plant_in_kernel(device: str) -> None:
    """Make a kernel wrong by one per cent, on the device or on the host."""
    from mstorch._src.backend.table import kernel

    table = kernel("softmax") if device != "cpu" else kernel("softmax").host
    good = table["float32"]
    table["float32"] = lambda *args: good(*args) * 1.01


if __name__ == "__main__":
    main()
