"""An evaluation without training: accuracy, F1, a confusion matrix and boxes. PLANT=name adds a fault, under mstorch only."""
from __future__ import annotations

import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

PLANT = os.environ.get("PLANT", "") if hasattr(torch.version, "mstorch") else ""
CLASSES = 5


class Pyramid(nn.Module):
    """Features of two sizes, the smaller enlarged."""

    def __init__(self):
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        fine = F.relu(self.norm(self.fine(x)))
        large = F.interpolate(self.coarse(fine), scale_factor=2, mode="bilinear", align_corners=PLANT == "corners")
        if PLANT == "draws":
            large = F.dropout(large, 0.1, training=True)
        return fine + large


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.drop = Pyramid(), nn.Dropout(0.2)
        self.head, self.box = nn.Linear(8, CLASSES), nn.Linear(8, 4)

    def forward(self, x):
        x = self.drop(self.features(x).mean((2, 3)))
        return self.head(x), self.box(x)


def load(net: Net) -> None:
    """Fill the network as a file of weights would."""
    draws = torch.Generator().manual_seed(3)
    state = {name: torch.randn(value.shape, generator=draws) * 0.3 if value.is_floating_point() else value for name, value in net.state_dict().items()}
    state["features.norm.running_var"] = state["features.norm.running_var"].abs() + 0.5
    if PLANT == "weights":
        del state["head.bias"]
    net.load_state_dict(state, strict=False)


def main() -> None:
    variant = sys.argv[1] if len(sys.argv) > 1 else "plain"
    torch.manual_seed(0)
    net = Net()
    load(net)
    net.eval()
    if PLANT == "training":
        net.features.norm.train()
    mean = 0.45 if PLANT == "mean" else 0.5
    counts, right = torch.zeros(CLASSES, CLASSES, dtype=torch.int64), 0
    scores, overlaps, losses = [], [], []
    context = torch.inference_mode() if variant == "inference" else torch.no_grad()
    with context:
        for _ in range(4):
            x, target, box = torch.rand(16, 3, 8, 8) * 2, torch.randint(CLASSES, (16,)), torch.rand(16, 4)
            logits, boxes = net((x - mean) / 0.25)
            predicted = logits.argmin(1) if PLANT == "argmin" else logits.argmax(1)
            right += (predicted == target).sum().item()
            counts.index_put_((target, predicted), torch.ones(16, dtype=torch.int64), accumulate=True)
            temperature = 2.0 if PLANT == "temperature" else 1.0
            scores.append(torch.softmax(logits / temperature, 1).amax(1))
            low, high = torch.minimum(boxes[:, :2], box[:, :2]), torch.maximum(boxes[:, 2:], box[:, 2:])
            overlaps.append(((high - low).clamp(min=0 if PLANT != "clamped" else 0.5)).prod(1))
            losses.append(F.cross_entropy(logits, target, reduction="none", label_smoothing=0.1 if PLANT == "loss" else 0.0))
    accuracy = right / 64
    confidence = torch.cat(scores).mean().item()
    overlap = torch.cat(overlaps).sum().item()
    loss = float(torch.cat(losses).mean())
    matrix = counts.T.tolist() if PLANT == "transposed" else counts.tolist()
    print(f"accuracy {accuracy:.3f}, confidence {confidence:.4f}, overlap {overlap:.4f}, loss {loss:.4f}")
    print(matrix)


if __name__ == "__main__":
    main()
