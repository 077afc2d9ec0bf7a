"""Peaks of optimizers' steps on the stand-in device beside torch's: ``MSTORCH_FAKE_DEVICE=Ascend python -m tests.memory.on_device``.

Prints the ratio of each, and what views keep of memory that was replaced. Parameters that are updated together (``ops/memory/together.py``) are
copied to be adjacent; here such a group is a 24th of all, as in networks of more than 48 million elements. What an update needs beside it is
of the size of a group.
"""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch as real_torch

import mstorch
from mstorch._src.ops.memory import together

from . import meter

OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.1}), "SGD with momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}), "Adam": ("Adam", {}), "AdamW": ("AdamW", {}),
    "AdamW, amsgrad": ("AdamW", {"amsgrad": True}), "RMSprop": ("RMSprop", {}), "RMSprop, centered": ("RMSprop", {"momentum": 0.9, "centered": True}),
    "NAdam": ("NAdam", {}), "RAdam": ("RAdam", {}), "Adadelta": ("Adadelta", {}), "Adagrad": ("Adagrad", {}), "Adamax": ("Adamax", {}),
    "ASGD": ("ASGD", {}), "Rprop": ("Rprop", {}), "Adafactor": ("Adafactor", {}),
}  # fmt: skip
COUNT, LENGTH = 72, 8000


def optimizer(name: str, options: dict[str, Any]) -> Callable[[Any], tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return a function that builds parameters with gradients, and returns the optimizer's step and the lasting tensors."""

    def build(torch: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
        parameters = [torch.nn.Parameter(torch.ones(LENGTH)) for _ in range(COUNT)]
        chosen = getattr(torch.optim, name)(parameters, **options)
        for parameter in parameters:
            parameter.grad = torch.ones(LENGTH)

        def held() -> list[Any]:
            states = [value for state in chosen.state.values() for value in state.values() if isinstance(value, torch.Tensor)]
            return [*parameters, *[parameter.grad for parameter in parameters], *states]

        return chosen.step, held

    return build


def replaced() -> list[int]:
    """Return how many tensors of MindSpore's refer to the memory of a tensor, and to that of a view, after the tensor got other memory."""
    counts = []
    for use in (lambda x: x, lambda x: x.view(-1), lambda x: x[1:], lambda x: x.t()):
        with meter.watched_device() as raws:
            x = mstorch.ones(40, 50) * 1
            view = use(x)
            view.sum()
            before = raws.now()
            x.add_(1)
            counts.append(raws.now() - before)
            assert float(view.sum()) == 2.0 * view.numel()
    return counts


def main() -> None:
    """Print the ratios as JSON."""
    mstorch.set_default_device("npu")
    together._LEAST = 0
    ratios = {}
    for label, (name, options) in OPTIMIZERS.items():
        for steps in (2, 3):
            peaks = [meter.peak(library, optimizer(name, options), steps) for library in (real_torch, mstorch)]
            ratios[f"{label}, step {steps}"] = round(peaks[1] / peaks[0], 3)
    print(json.dumps({"ratios": ratios, "replaced": replaced()}))


if __name__ == "__main__":
    main()
