"""The two networks of the compile tests, with the same weights and batches in either library."""
from __future__ import annotations

import csv
import gzip
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "digits.csv.gz"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return images (1797, 1, 8, 8) in [0, 1] and labels (1797,)."""
    with gzip.open(DIGITS, "rt", newline="") as file:
        rows = np.array(list(csv.reader(file))[1:], np.float32)
    return (rows[:, :64] / 16).reshape(-1, 1, 8, 8), rows[:, 64].astype(np.int64)


def cnn(torch: Any) -> Any:
    """Return the CNN of the digits example."""
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def transformer(torch: Any) -> Any:
    """Return a Transformer encoder that reads an image as eight rows of eight numbers."""
    nn = torch.nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(8, 32)
            self.place = nn.Parameter(torch.randn(8, 32) * 0.1)
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(32, 10)

        def forward(self, images: Any) -> Any:
            rows = self.embed(images.squeeze(1)) + self.place
            return self.head(self.encoder(rows).mean(dim=1))

    torch.manual_seed(0)
    return Encoder()


def tensors(torch: Any, *arrays: Any) -> list[Any]:
    """Return arrays as tensors of the library's default device."""
    return [torch.from_numpy(array).to(torch.get_default_device()) for array in arrays]


NETWORKS: dict[str, Callable[[Any], Any]] = {"cnn": cnn, "transformer": transformer}


def losses(torch: Any, network: str, compiled: bool, steps: int = 20, optimizer: str = "SGD", **options: Any) -> list[float]:
    """Return the losses of training steps on the digits, compiled or not."""
    model = NETWORKS[network](torch)
    run = torch.compile(model, **options) if compiled else model
    rate = {"SGD": {"lr": 0.05, "momentum": 0.9}, "Adam": {"lr": 1e-3}}[optimizer]
    optim = getattr(torch.optim, optimizer)(model.parameters(), **rate)
    images, labels = digits()
    found = []
    for step in range(steps):
        rows = slice(32 * step, 32 * step + 32)
        optim.zero_grad()
        shown, named = tensors(torch, images[rows], labels[rows])
        loss = torch.nn.functional.cross_entropy(run(shown), named)
        loss.backward()
        optim.step()
        found.append(loss.item())
    return found
