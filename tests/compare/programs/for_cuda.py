"""A classifier for GPUs, to be ported by ``python -m mstorch port`` before it is compared. PLANT=name adds a fault, under mstorch only."""
from __future__ import annotations

import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
PLANT = os.environ.get("PLANT", "") if hasattr(torch.version, "mstorch") else ""


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.slope = nn.PReLU()

    def forward(self, x):
        y = self.norm(self.conv(x))
        return self.slope(x + y if PLANT != "residual" else y + 0.9 * x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.body = nn.Sequential(*[Residual(8) for _ in range(3)])
        self.pool = nn.AdaptiveAvgPool2d(1) if PLANT != "pool" else nn.AdaptiveMaxPool2d(1)
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(8, 5)

    def forward(self, x):
        x = self.pool(self.body(self.stem(x))).flatten(1)
        return self.head(self.drop(x))


def groups_of(net):
    decayed = [param for param in net.parameters() if param.dim() > 1]
    others = [param for param in net.parameters() if param.dim() <= 1]
    return [{"params": decayed, "weight_decay": 1e-2}, {"params": others, "weight_decay": 1e-2 if PLANT == "decay" else 0.0}]


def main():
    variant = sys.argv[1] if len(sys.argv) > 1 else "plain"
    torch.cuda.manual_seed_all(0)
    torch.manual_seed(1 if PLANT == "seed" else 0)
    torch.backends.cudnn.benchmark = True
    images, labels = torch.rand(48, 3, 12, 12), torch.randint(5, (48,))
    data = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=PLANT != "order", pin_memory=torch.cuda.is_available())
    net = Classifier()
    if PLANT == "initial":
        nn.init.xavier_uniform_(net.head.weight)
    net = net.to(device)
    if torch.cuda.is_available():
        net = net.cuda()
        torch.cuda.synchronize()
    optimizer = torch.optim.AdamW(groups_of(net), lr=1e-2, betas=(0.9, 0.99 if PLANT == "betas" else 0.999))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3 if PLANT == "schedule" else 6)
    scaler = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available())
    for number, (x, target) in enumerate(data):
        x, target = x.to(device, non_blocking=True), target.to(device)
        with torch.autocast("cuda", enabled=torch.cuda.is_available()):
            loss = F.cross_entropy(net(x), target) / (2 if variant == "accumulated" else 1)
        if PLANT == "sum":
            loss = loss + 0.1 * net.head.weight.square().sum()
        scaler.scale(loss).backward()
        if PLANT == "frozen":
            net.stem.weight.grad.zero_()
        if variant != "accumulated" or number % 2:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            schedule.step()
        print(f"batch {number}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
