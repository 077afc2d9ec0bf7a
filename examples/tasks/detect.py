"""A detector without anchors: cells of a grid say whether a shape is centred there, how large, which: python -m mstorch detect.py"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, CELL = 32, 8


def pictures(count):
    """Pictures (count, 1, 32, 32) with a square or a frame each, and targets (count, 4, 4, 4): there, width, height, kind."""
    images, targets = torch.rand(count, 1, SIZE, SIZE) * 0.2, torch.zeros(count, SIZE // CELL, SIZE // CELL, 4)
    for image, target in zip(images, targets):
        width, height = torch.randint(6, 13, (2,)).tolist()
        x, y = (int(torch.randint(SIZE - side, (1,))) for side in (width, height))
        kind = int(torch.randint(2, (1,)))
        image[0, y : y + height, x : x + width] += 0.8
        if kind:
            image[0, y + 2 : y + height - 2, x + 2 : x + width - 2] -= 0.8
        cell = target[(y + height // 2) // CELL, (x + width // 2) // CELL]
        cell.copy_(torch.tensor([1.0, width / SIZE, height / SIZE, float(kind)]))
    return images, targets


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (1, 16, 32, 64)
        self.body = nn.Sequential(*(
            nn.Sequential(nn.Conv2d(a, b, 3, stride=2, padding=1), nn.BatchNorm2d(b), nn.ReLU()) for a, b in zip(widths, widths[1:])
        ))  # fmt: skip
        self.head = nn.Conv2d(64, 4, 3, padding=1)

    def forward(self, images):
        return self.head(self.body(images)).permute(0, 2, 3, 1)


def loss_of(found, target):
    there = target[..., 0]
    presence = F.binary_cross_entropy_with_logits(found[..., 0], there, pos_weight=torch.tensor(8.0, device=found.device))
    sizes = (F.smooth_l1_loss(found[..., 1:3].sigmoid(), target[..., 1:3], reduction="none").sum(-1) * there).sum() / there.sum()
    kinds = (F.binary_cross_entropy_with_logits(found[..., 3], target[..., 3], reduction="none") * there).sum() / there.sum()
    return presence + sizes + kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Detector().to(options.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(options.steps):
        images, targets = (item.to(options.device) for item in pictures(32))
        loss = loss_of(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    model.eval()
    images, targets = pictures(64)
    with torch.no_grad():
        found = model(images.to(options.device)).cpu()
    best = found[..., 0].flatten(1).argmax(1)
    print(f"found {(best == targets[..., 0].flatten(1).argmax(1)).float().mean().item():.0%} of the shapes")


if __name__ == "__main__":
    main()
