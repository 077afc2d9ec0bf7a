"""A network of timm on handwritten digits: python -m mstorch classify_images.py [--device npu] [--model convnext_atto]"""
import argparse
import csv
import gzip
import pathlib

import timm
import torch
import torch.nn.functional as F

DATA = pathlib.Path(__file__).parents[1] / "data" / "digits.csv.gz"


def digits():
    """Images (1797, 1, 32, 32) in 0…1 and labels (1797,)."""
    with gzip.open(DATA, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    values = torch.tensor([[float(value) for value in row] for row in rows])
    images = (values[:, :64] / 16).reshape(-1, 1, 8, 8)
    return F.interpolate(images, scale_factor=4, mode="bilinear"), values[:, 64].long()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default="convnext_atto")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    images, labels = digits()
    model = timm.create_model(options.model, in_chans=1, num_classes=10).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, eps=1e-6)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=options.steps)
    order = torch.randperm(1500)
    for step in range(options.steps):
        chosen = order[step * 32 % 1440 :][:32]
        loss = F.cross_entropy(model(images[chosen].to(options.device)), labels[chosen].to(options.device), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        found = model(images[1500:].to(options.device)).argmax(1).cpu()
    print(f"accuracy {(found == labels[1500:]).float().mean().item():.2%}")


if __name__ == "__main__":
    main()
