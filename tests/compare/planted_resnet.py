"""ResNet-18 in a usual training loop, as a script for ``python -m mstorch compare``. PLANT=name adds a fault, under mstorch only."""
from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "models"))
from resnet import ResNet18

PLANT = os.environ.get("PLANT", "") if hasattr(torch.version, "mstorch") else ""


class Square(torch.autograd.Function):
    """relu(x) squared."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.relu(x) ** 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.relu(ctx.saved_tensors[0]) * (1.9 if PLANT == "function" else 2)


class SquaredReLU(nn.Module):
    def forward(self, x):
        return Square.apply(x)


def plant_in_network(net: ResNet18) -> None:
    """Add a fault of the network itself."""
    block = net.stages[2][1]
    if PLANT == "eps":
        block.bn2.eps = 1e-3
    elif PLANT == "statistics":
        block.bn1.momentum = 0.2
    elif PLANT == "weight":
        with torch.no_grad():
            net.stages[1][0].conv2.weight[0, 0, 0, 0] += 0.02
    elif PLANT == "frozen":
        net.stages[3][0].downsample[1].eval()
    elif PLANT == "padding":
        block.conv1.padding_mode = "circular"
        block.conv1._reversed_padding_repeated_twice = [1, 1, 1, 1]
    elif PLANT == "hook":
        net.stages[1][1].conv1.register_full_backward_hook(lambda module, given, found: (given[0] * 1.01,))


def main() -> None:
    device = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cpu"
    torch.manual_seed(0)
    net = ResNet18(width=8)
    net.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 32), SquaredReLU(), nn.Linear(32, 10))
    plant_in_network(net)
    net.to(device)
    if device != "cpu" and PLANT == "device":
        plant_on_device()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-3 if PLANT == "decay" else 5e-4)
    warmup = 3 if PLANT == "scheduler" else 2
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
    mean = 0.45 if PLANT == "input" else 0.5
    for step in range(6):
        images, labels = torch.rand(8, 3, 16, 16), torch.randint(10, (8,))
        loss = F.cross_entropy(net(((images - mean) / 0.25).to(device)), labels.to(device))
        if PLANT != "kept" or step < 3:
            optimizer.zero_grad()
        loss.backward()
        if PLANT != "clipped":
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if PLANT == "draw" and step == 1:
            torch.rand(())
        optimizer.step()
        schedule.step()
        print(f"step {step}: loss {loss.item():.5f}")


def plant_on_device() -> None:
    """Make the device's gradient of ReLU wrong by one per cent."""
    from mstorch._src.backend.table import kernel

    table = kernel("relu_grad")
    good = table["float32"]
    table["float32"] = lambda *args: good(*args) * 1.01


if __name__ == "__main__":
    main()
