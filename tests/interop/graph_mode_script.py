"""Run by test_graphs.py in a process of its own, because MindSpore's mode is global: prints losses as JSON."""
from __future__ import annotations

import json
import sys
import warnings

import mindspore

import mstorch as torch
from tests.compile.networks import NETWORKS, digits

nn = torch.nn


def main(mode: str, network: str) -> None:
    warnings.simplefilter("error", UserWarning)
    mindspore.set_context(mode=getattr(mindspore, mode))
    model = NETWORKS[network](torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images, labels = (torch.from_numpy(array) for array in digits())
    losses = []
    for step in range(20):
        rows = slice(32 * step, 32 * step + 32)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        right = (model(images[:256]).argmax(1) == labels[:256]).float().mean().item()
    raw = model(images[:2].to_mindspore())
    graphs = model.__dict__.get("_graphs")
    count = 0 if graphs is None else sum(entry.graph is not None for entries in graphs.entries.values() for entry in entries)
    print(json.dumps({"losses": losses, "accuracy": right, "native": type(raw).__name__, "graphs": count}))


if __name__ == "__main__":
    main(*sys.argv[1:])
