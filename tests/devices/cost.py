"""What training steps ask of the stand-in device: ``python -m tests.devices.cost [steps|moves|reads] [name…]`` prints it."""
from __future__ import annotations

import importlib
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._backend import cost

F, nn = torch.nn.functional, torch.nn
MODELS = pathlib.Path(__file__).parents[2] / "examples" / "models"


def _mlp() -> tuple[Any, Any, Callable[[], Any], Callable[..., Any]]:
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).npu()
    return net, torch.optim.AdamW(net.parameters()), lambda: (torch.randn(8, 16), torch.randint(4, (8,))), lambda model, x, y: F.cross_entropy(model(x), y)


def _lstm() -> tuple[Any, Any, Callable[[], Any], Callable[..., Any]]:
    net = nn.LSTM(8, 16, 2).npu()
    return net, torch.optim.SGD(net.parameters(), 0.1), lambda: (torch.randn(10, 4, 8),), lambda model, x: model(x)[0].square().mean()


def _example(name: str) -> tuple[Any, Any, Callable[[], Any], Callable[..., Any]]:
    if str(MODELS) not in sys.path:
        torch.install()
        sys.path.insert(0, str(MODELS))
    example = importlib.import_module(name)
    model, optimizer = example.build()
    return model.npu(), optimizer, example.batch, example.loss


STEPS: dict[str, Callable[[], Any]] = {
    "MLP, AdamW": _mlp, "ResNet-18, SGD": lambda: _example("resnet"), "GPT, AdamW": lambda: _example("gpt"), "UNet": lambda: _example("unet"), "LSTM, SGD": _lstm,
}  # fmt: skip


def step(name: str) -> cost.Cost:
    """The cost of the third step of a training."""
    torch.manual_seed(0)
    model, optimizer, batch, loss = STEPS[name]()
    for _ in range(2):
        _once(model, optimizer, [part.npu() for part in batch()], loss)
    parts = [part.npu() for part in batch()]
    with cost.counted() as found:
        _once(model, optimizer, parts, loss)
    return found


def _once(model: Any, optimizer: Any, parts: list[Any], loss: Callable[..., Any]) -> None:
    optimizer.zero_grad()
    loss(model, *parts).backward()
    optimizer.step()


def steps(*names: str) -> dict[str, Any]:
    """The cost of a step of each network."""
    return {name: step(name).numbers() for name in names or STEPS}


if __name__ == "__main__":
    if sys.argv[1] == "show":
        for each in sys.argv[2:] or STEPS:
            print(each, step(each).text(30))
    else:
        print(json.dumps({"steps": steps}[sys.argv[1]](*sys.argv[2:])))
