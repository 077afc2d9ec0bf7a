"""Small networks whose steps' memory is compared: ``make(name, **options)(torch)`` returns a step and what it holds."""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class _Residual:
    """Build a block ``x + f(x)``."""

    def __new__(cls, torch: Any, *layers: Any) -> Any:
        class Residual(torch.nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self) -> None:
                super().__init__()
                self.inner = torch.nn.Sequential(*layers)

            def forward(self, x: Any) -> Any:
                return x + self.inner(x)

        return Residual()


def _attention(torch: Any, size: int, heads: int) -> Any:
    class Attention(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            q, k, v = self.qkv(x).view(n, t, 3, heads, size // heads).permute(2, 0, 3, 1, 4)
            y = torch.softmax(q @ k.transpose(-2, -1) / (size // heads) ** 0.5, -1) @ v
            return self.out(y.transpose(1, 2).reshape(n, t, size))

    return Attention()


def _convolutions(torch: Any, norm: str, activation: str) -> list[Any]:
    nn = torch.nn
    layers = []
    for first, last in ((3, 16), (16, 16), (16, 32), (32, 32)):
        layers.append(nn.Sequential(nn.Conv2d(first, last, 3, padding=1), getattr(nn, norm)(*((4, last) if norm == "GroupNorm" else (last,))), getattr(nn, activation)()))
    return layers


def _blocks(name: str, torch: Any) -> tuple[list[Any], Any]:
    nn = torch.nn
    if name == "mlp":
        return [nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)) for _ in range(6)], torch.randn(256, 128)
    if name == "relu":
        return [nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 128), nn.ReLU()) for _ in range(6)], torch.randn(256, 128)
    if name == "residual":
        return [_Residual(torch, nn.LayerNorm(128), nn.Linear(128, 512), nn.SiLU(), nn.Linear(512, 128)) for _ in range(6)], torch.randn(256, 128)
    if name == "tanh":
        return [nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 128), nn.Sigmoid()) for _ in range(6)], torch.randn(512, 128)
    if name == "gpt":
        return [nn.Sequential(_Residual(torch, nn.LayerNorm(64), _attention(torch, 64, 4)),
                              _Residual(torch, nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))) for _ in range(4)], torch.randn(8, 64, 64)  # fmt: skip
    if name == "encoder":
        return [nn.TransformerEncoderLayer(64, 4, 256, 0.0, batch_first=True) for _ in range(4)], torch.randn(8, 64, 64)
    if name == "vgg":
        return _convolutions(torch, "BatchNorm2d", "ReLU"), torch.randn(8, 3, 32, 32)
    if name == "group norm":
        return _convolutions(torch, "GroupNorm", "SiLU"), torch.randn(8, 3, 32, 32)
    if name == "pooled":
        return [*_convolutions(torch, "BatchNorm2d", "ReLU")[:2], nn.MaxPool2d(2), nn.Sequential(nn.Conv2d(16, 32, 3), nn.ReLU()), nn.AvgPool2d(2)], torch.randn(24, 3, 32, 32)
    if name == "dropout":
        return [nn.Sequential(nn.Linear(128, 512), nn.Dropout(0.1), nn.ReLU(), nn.Linear(512, 128)) for _ in range(6)], torch.randn(256, 128)
    if name == "lstm":
        class Last(nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self) -> None:
                super().__init__()
                self.lstm = nn.LSTM(64, 64, batch_first=True)

            def forward(self, x: Any) -> Any:
                return self.lstm(x)[0]

        return [Last() for _ in range(3)], torch.randn(32, 24, 64)
    assert name == "softmax"
    return [_Residual(torch, nn.Linear(128, 128), nn.Softmax(-1), nn.Linear(128, 128)) for _ in range(6)], torch.randn(512, 128)


NAMES = ["mlp", "relu", "residual", "tanh", "gpt", "encoder", "vgg", "group norm", "pooled", "dropout", "lstm", "softmax"]


def make(
    name: str, checkpointed: bool = False, autocast: bool = False, set_to_none: bool = True, optimizer: str = "SGD", **options: Any
) -> Callable[[Any], tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return a function of the library that builds a network; it returns a training step, and a function that lists its lasting tensors."""

    def build(torch: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
        torch.manual_seed(0)
        checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
        blocks, x = _blocks(name, torch)
        parameters = [parameter for block in blocks for parameter in block.parameters()]
        chosen = getattr(torch.optim, optimizer)(parameters, **{**({"lr": 0.01} if optimizer == "SGD" else {}), **options})

        def step() -> None:
            chosen.zero_grad(set_to_none=set_to_none)
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                h = x
                for block in blocks:
                    h = checkpoint(block, h, use_reentrant=False) if checkpointed else block(h)
                loss = h.float().square().mean()
            loss.backward()
            chosen.step()

        def held() -> list[Any]:
            states = [value for state in chosen.state.values() for value in state.values() if isinstance(value, torch.Tensor)]
            return [x, *parameters, *[p.grad for p in parameters if p.grad is not None], *[b for block in blocks for b in block.buffers()], *states]

        return step, held

    return build
