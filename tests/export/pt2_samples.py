"""Programs that real torch exports and writes to ``.pt2``, each with a call and, where sizes vary, a second one. Everything here is real torch's."""
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim, export

SAMPLES: dict[str, Callable[[], tuple[Any, list[tuple[Any, ...]]]]] = {}


def sample(*, dynamic: Any = None, decomposed: bool = False) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that returns a module and calls; the module is exported with the first."""

    def enter(make: Callable[[], Any]) -> Callable[[], Any]:
        def program() -> Any:
            module, *calls = make()
            made = export(module, calls[0], dynamic_shapes=dynamic)
            return made.run_decompositions() if decomposed else made, calls

        SAMPLES[make.__name__ + ("_decomposed" if decomposed else "")] = program
        return make

    return enter


def awake(module: nn.Module) -> nn.Module:
    """Give batch norms other statistics than those of a new one."""
    for name, buffer in module.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return module


@sample()
@sample(decomposed=True)
def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Dropout(0.0), nn.Linear(6, 2), nn.Softmax(-1)), (torch.randn(3, 4),)


@sample()
@sample(decomposed=True)
def convolutions() -> Any:
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, groups=2), nn.SiLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))  # fmt: skip
    return awake(net).eval(), (torch.randn(2, 3, 10, 10),)


@sample()
@sample(decomposed=True)
def training_batch_norm() -> Any:
    return nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.Hardswish()), (torch.randn(2, 3, 8),)


@sample(dynamic=({0: Dim("batch")},))
def dynamic_batch() -> Any:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), (torch.randn(3, 4),), (torch.randn(7, 4),)


class Sizes(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        n, m = x.shape
        z = torch.cat([x, y]).view(-1, m // 2, 2).sum(1)
        return {"z": z, "sizes": [n, m * 2 - 1], "more": x.new_zeros(n + 1, m), "range": torch.arange(n) * m, "tile": x.expand(2, n, m).reshape(2 * n, m)}


@sample(dynamic=({0: Dim("n"), 1: 2 * Dim("half")}, {0: Dim("k"), 1: 2 * Dim("half")}))
def arithmetic_of_sizes() -> Any:
    return Sizes(), (torch.randn(3, 4), torch.randn(5, 4)), (torch.randn(2, 6), torch.randn(4, 6))


@sample()
@sample(decomposed=True)
def recurrent() -> Any:
    return nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), (torch.randn(2, 3, 4),)


@sample()
def gru() -> Any:
    return nn.GRU(4, 5), (torch.randn(3, 2, 4), torch.randn(1, 2, 5))


@sample()
@sample(decomposed=True)
def encoder() -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).train(), (torch.randn(2, 5, 8),)


@sample()
def decoder() -> Any:
    return nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), (torch.randn(3, 2, 8), torch.randn(4, 2, 8))


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("hidden", torch.ones(3), persistent=False)
        self.scale = torch.full((3,), 2.0)

    def forward(self, x: Tensor) -> Any:
        self.count.add_(1)
        self.hidden = self.hidden * 0.5 + x
        return x * self.count * self.scale + torch.tensor([1.0, 2.0, 3.0]), self.hidden


@sample()
@sample(decomposed=True)
def mutated_buffers() -> Any:
    return Counting(), (torch.randn(3),), (torch.randn(3),)


class Written(nn.Module):
    def forward(self, x: Tensor, table: dict[str, Tensor]) -> Any:
        x.add_(1)
        table["a"].mul_(2)
        return x + table["a"]


@sample()
@sample(decomposed=True)
def mutated_inputs() -> Any:
    return Written(), (torch.randn(3), {"a": torch.randn(3)})


class Nested(nn.Module):
    def forward(self, x: Any, flag: bool = True, name: str = "a", rate: float = 0.5, none: Any = None) -> Any:
        a, (b, rest) = x["a"], x["b"]
        return {"sum": (a + b) * rate, "list": [rest[0], flag, 3, none], "tuple": (b.max(dim=0)[0], a.split(1)[0])}


@sample()
def nested_arguments() -> Any:
    return Nested(), ({"a": torch.randn(2), "b": (torch.randn(2), [torch.ones(1)])}, False, "b", 0.25, None)


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))


@sample()
def branches() -> Any:
    return Branches(), (torch.ones(3),), (-torch.ones(3),)


class NoGrad(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = self.linear(x).abs().max()
        return self.linear(x) / scale


@sample()
def no_grad() -> Any:
    return NoGrad(), (torch.randn(2, 3),)


class Various(nn.Module):
    def forward(self, x: Tensor, index: Tensor) -> Any:
        image = x.view(1, 1, 4, 6)
        values, where = x.topk(2)
        return [x[index], x[:, 1:-1:2], values, where, x.sort(1)[0], x.to(torch.float64), x.half().float(), torch.where(x > 0, x, 0.0), x.std(0), x.cumsum(1),
                F.interpolate(image, scale_factor=2.0, mode="bilinear"), F.pad(image, [1, 1, 0, 0], mode="reflect"), F.avg_pool2d(image, 2), F.one_hot(index, 5),
                torch.einsum("ij,kj->ik", x, x), x.masked_fill(x > 0, float("-inf")), F.scaled_dot_product_attention(image, image, image), F.softplus(x),
                torch.zeros(2, 3, dtype=torch.int32), torch.full((2,), 1.5), x.clamp(-1, 1), F.cross_entropy(x, index), x.argmax(1), x.logsumexp(1), x.tril()]  # fmt: skip


@sample()
@sample(decomposed=True)
def various() -> Any:
    return Various(), (torch.randn(4, 6), torch.tensor([0, 2, 1, 3]))


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.words.weight
        self.frozen = nn.Parameter(torch.ones(4), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.words(x) * self.frozen)


@sample()
def shared_weights() -> Any:
    return Shared(), (torch.randint(0, 10, (2, 3)),)
