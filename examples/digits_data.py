"""The digits of examples/data as tensors, and the loop that both example scripts share."""
import argparse
import csv
import gzip
import os
import pathlib
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

DATA = pathlib.Path(__file__).parent / "data" / "digits.csv.gz"


def load_digits():
    """Images (1797, 1, 8, 8) in 0…1 and labels (1797,)."""
    with gzip.open(DATA, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    values = torch.tensor([[float(value) for value in row] for row in rows])
    return (values[:, :64] / 16).reshape(-1, 1, 8, 8), values[:, 64].long()


def parse_options(description, epochs, lr):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--lr", type=float, default=lr)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


@torch.no_grad()
def evaluate(model, loader, device):
    """Mean loss and accuracy."""
    model.eval()
    loss, right, count = 0.0, 0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return loss / count, right / count


def train(model_class, options):
    """Train on 1,437 digits, test on the other 360; keep the best weights in a file and test those at the end."""
    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    train_set, test_set = random_split(TensorDataset(*load_digits()), [1437, 360])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=360)
    model = model_class().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    best = -1.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "best.pt")
        for epoch in range(1, options.epochs + 1):
            model.train()
            total, count = 0.0, 0
            for images, labels in train_loader:
                images, labels = images.to(device), labels.to(device)
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
                total += loss.item() * len(labels)
                count += len(labels)
            test_loss, accuracy = evaluate(model, test_loader, device)
            print(f"epoch {epoch:2d}  train loss {total / count:.4f}  test loss {test_loss:.4f}  test accuracy {accuracy:.2%}")
            if accuracy > best:
                best = accuracy
                torch.save(model.state_dict(), path)
        restored = model_class().to(device)
        restored.load_state_dict(torch.load(path))
    _, accuracy = evaluate(restored, test_loader, device)
    print(f"best weights: test accuracy {accuracy:.2%}")
