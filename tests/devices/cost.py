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


# Movements and views of a tensor of (4, 6, 8) without a table of positions in forward or backward.
MOVES: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(24, 8), "view, flat": lambda x: x.view(-1), "reshape": lambda x: x.reshape(8, 24), "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 4)), "transpose": lambda x: x.transpose(0, 2), "mT": lambda x: x.mT, "permute": lambda x: x.permute(2, 0, 1),
    "movedim": lambda x: x.movedim(0, 2), "swapaxes": lambda x: x.swapaxes(0, 1), "contiguous": lambda x: x.transpose(0, 1).contiguous(),
    "reshape of a transposed": lambda x: x.transpose(0, 2).reshape(-1), "squeeze": lambda x: x[:, :1].squeeze(1), "unsqueeze": lambda x: x.unsqueeze(1),
    "None": lambda x: x[..., None], "expand": lambda x: x[:, None].expand(4, 3, 6, 8), "expand_as": lambda x: x[:1].expand_as(x),
    "broadcast_to": lambda x: x[:, :1].broadcast_to(4, 6, 8), "select": lambda x: x.select(1, 2), "int": lambda x: x[1], "negative int": lambda x: x[:, -1],
    "slice": lambda x: x[1:3], "slice, inner": lambda x: x[:, 1:3, 2:], "slice with steps": lambda x: x[:, ::2], "steps and start": lambda x: x[1:, 1::3, ::2],
    "last": lambda x: x[:, -1:], "Ellipsis": lambda x: x[..., 3], "mixed": lambda x: x[1, :, None, ::3], "empty": lambda x: x[2:2],
    "narrow": lambda x: x.narrow(1, 2, 3), "chunk": lambda x: x.chunk(3, 1)[1], "all chunks": lambda x: sum(x.chunk(2, 2)), "split": lambda x: x.split(4, 1)[0],
    "split of sizes": lambda x: x.split([1, 2, 3], 1)[2] * 2 + x.split([1, 2, 3], 1)[2], "unbind": lambda x: x.unbind(1)[3], "unbind, all": lambda x: sum(x.unbind(0)),
    "tensor_split": lambda x: x.tensor_split(4, 1)[1], "hsplit": lambda x: x.hsplit(2)[1], "iteration": lambda x: sum(row for row in x),
    "diagonal": lambda x: x.diagonal(0, 1, 2), "diagonal beside": lambda x: x.diagonal(1, 0, 2), "as_strided": lambda x: x.as_strided((3, 4), (16, 2), 5),
    "as_strided, shared": lambda x: x.as_strided((3, 4), (2, 2)), "unfold": lambda x: x.unfold(2, 3, 2), "unfold, apart": lambda x: x.unfold(1, 2, 3),
    "flip": lambda x: x.flip(0, 2), "fliplr": lambda x: x.fliplr(), "roll": lambda x: x.roll(2, 1), "roll, flat": lambda x: x.roll(3),
    "rot90": lambda x: x.rot90(1, (0, 1)), "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "repeat": lambda x: x.repeat(2, 1, 3), "tile": lambda x: x.tile(2),
    "cat": lambda x: torch.cat([x, x[:1], x * 2]), "stack": lambda x: torch.stack([x, x * 2], 1), "hstack": lambda x: torch.hstack([x, x]),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), "pad, cut": lambda x: F.pad(x, (-1, 2)), "reflect": lambda x: F.pad(x, (1, 2), "reflect"),
    "replicate": lambda x: F.pad(x, (1, 2), "replicate"), "circular": lambda x: F.pad(x, (1, 2), "circular"), "clone": lambda x: x.clone(),
    "F.unfold": lambda x: F.unfold(x[None], 2), "F.fold": lambda x: F.fold(x.reshape(1, 8, 24)[..., :20], (5, 6), 2), "pixel_shuffle": lambda x: F.pixel_shuffle(x[None], 2),
    "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")[0], "atleast_3d": lambda x: torch.atleast_3d(x[0]), "kron": lambda x: torch.kron(x[0, 0], x[0, 1]),
    "half": lambda x: x.half(), "view_as_real": lambda x: torch.view_as_real(torch.complex(x, x)), "block_diag": lambda x: torch.block_diag(x[0], x[1]),
}  # fmt: skip


def _moved(function: Callable[[Any], Any], x: Any) -> tuple[Any, Any, Any]:
    """What a movement gives, its gradient, and the gradient of that."""
    found = function(x)
    weight = (found.detach() + 1).square()
    (first,) = torch.autograd.grad((found * weight).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first * x).sum() + (function(x) ** 3).sum(), x)
    return found, first, second


def moves() -> dict[str, Any]:
    """The cost of each movement, there and back; ``wrong`` is set where it differs from the host."""
    costs = {}
    for name, function in MOVES.items():
        values = torch.arange(192.0).reshape(4, 6, 8) / 100
        here = _moved(function, values.requires_grad_())
        there = values.detach().npu().requires_grad_()
        function(there)  # positions that are made of sizes alone go up once
        with cost.counted() as found:
            moved = function(there)
        weight = (moved.detach() + 1).square()
        with cost.counted() as back:
            moved.backward(weight)
        pairs = [*zip(here, _moved(function, there)), (here[1], there.grad)]
        wrong = not all(torch.allclose(a, b.cpu(), 1e-4, 1e-5) for a, b in pairs)
        costs[name] = {"forward": found.numbers(), "backward": back.numbers(), "wrong": wrong}
    return costs


def steps(*names: str) -> dict[str, Any]:
    """The cost of a step of each network."""
    return {name: step(name).numbers() for name in names or STEPS}


if __name__ == "__main__":
    if sys.argv[1] == "show":
        for each in sys.argv[2:] or STEPS:
            print(each, step(each).text(30))
    else:
        print(json.dumps({"steps": steps, "moves": moves}[sys.argv[1]](*sys.argv[2:])))
