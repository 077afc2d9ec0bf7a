"""Optimizer steps, autocast with gradient scaling, and small networks on the device, compared with the host."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mstorch as torch

from ..._src.core import device as devices
from . import Item
from .programs import beside

F, nn, optim = torch.nn.functional, torch.nn, torch.optim

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: optim.SGD(p, 0.1), "SGD, momentum": lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=0.1, nesterov=True),
    "Adam": lambda p: optim.Adam(p, 0.01),
    "Adam, decay": lambda p: optim.Adam(p, 0.01, weight_decay=0.1), "AMSGrad": lambda p: optim.Adam(p, 0.01, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, 0.01), "RMSprop": lambda p: optim.RMSprop(p, centered=True, momentum=0.5),
    "NAdam": optim.NAdam, "RAdam": optim.RAdam, "Adagrad": optim.Adagrad, "Adadelta": optim.Adadelta, "Adamax": optim.Adamax,
    "Rprop": optim.Rprop, "one by one": lambda p: optim.AdamW(p, 0.01, foreach=False),
}  # fmt: skip


def _stepped(make: Callable[[Any], Any], place: str) -> list[Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).to(place)
    optimizer, x = make(net.parameters()), torch.randn(8, 6).to(place)
    for _ in range(6):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    return list(net.parameters())


def optimizers() -> list[Item]:
    """Return checks of the parameters after six steps."""
    return [(name, partial(beside, partial(_stepped, make))) for name, make in OPTIMIZERS.items()]


class _Block(nn.Module):
    """Layer of a language model."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.out, self.up, self.down = nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: Any) -> Any:
        q, k, v = (part.unflatten(-1, (2, 16)).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.second(x))))


class _Recurrent(nn.Module):
    """Network that returns the last output of an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.LSTM(6, 8, 2), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x)[0][-1])


def _language() -> Any:
    return nn.Sequential(nn.Embedding(20, 32), _Block(), _Block(), nn.LayerNorm(32), nn.Linear(32, 20), nn.Flatten(0, 1))


def _images() -> Any:
    first = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
    second = nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(8, 3))


NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, Any]]]] = {
    "language model": (_language, lambda: (torch.randint(0, 20, (2, 8)), torch.randint(0, 20, (16,)))),
    "images": (_images, lambda: (torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4,)))),
    "LSTM": (_Recurrent, lambda: (torch.randn(5, 4, 6), torch.randint(0, 3, (4,)))),
}  # fmt: skip


def _trained(make: Callable[[], Any], batch: Callable[[], tuple[Any, Any]], kind: Any, place: str) -> list[Any]:
    """Return the losses of ten training steps on the device ``place``: under autocast if ``kind`` is a half-precision dtype, with gradient
    scaling if it is float16.
    """
    torch.manual_seed(0)
    net = make()
    batches = [batch() for _ in range(10)]
    net = net.to(place)
    optimizer = optim.AdamW(net.parameters(), 0.01)
    half = kind is not torch.float32
    scaler = torch.amp.GradScaler(devices.current().type, enabled=kind is torch.float16 and place != "cpu", init_scale=128.0)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(torch.device(place).type, kind if half else torch.bfloat16, enabled=half):
            loss = F.cross_entropy(net(x.to(place)).float(), y.to(place))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return losses


def networks() -> list[Item]:
    """Return checks of the training losses of a language model, an image network and an LSTM."""
    return [(name, partial(beside, partial(_trained, *given, torch.float32), (1e-2, 1e-2))) for name, given in NETWORKS.items()]


def autocast() -> list[Item]:
    """Return checks of the training losses in half precision."""
    return [
        (f"{name}, {kind}", partial(beside, partial(_trained, *given, kind), (5e-2, 5e-2)))
        for name, given in NETWORKS.items() for kind in (torch.bfloat16, torch.float16)
    ]  # fmt: skip
