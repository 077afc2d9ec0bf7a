"""Programs that real torch scripts or traces and writes to archives, each with the arguments of a call. Everything here is real torch's."""
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

SAMPLES: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {}


def scripted(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Callable[[], Any]:
    """Register a function that returns a module, or a function, and arguments; the module is scripted."""

    def sample() -> tuple[Any, tuple[Any, ...]]:
        made, args = make()
        return torch.jit.script(made), args

    SAMPLES[make.__name__] = sample
    return make


def traced(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Callable[[], Any]:
    """Register a function that returns a module and arguments; the module is traced with them."""

    def sample() -> tuple[Any, tuple[Any, ...]]:
        made, args = make()
        return torch.jit.trace(made, args, check_trace=False), args

    SAMPLES[f"traced_{make.__name__}"] = sample
    return make


def both(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Callable[[], Any]:
    """Register a function's module as scripted and as traced."""
    return scripted(traced(make))


def awake(module: nn.Module) -> nn.Module:
    """Give batch norms other statistics than those of a new one."""
    for name, buffer in module.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return module


@both
def mlp() -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3), nn.Softmax(-1)), (torch.randn(4, 6),)


@both
def convolutions() -> Any:
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, groups=2, stride=2),
        nn.GroupNorm(2, 4), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2), nn.LogSoftmax(1),
    )  # fmt: skip
    return awake(net).eval(), (torch.randn(2, 3, 12, 12),)


@both
def convolutions_in_training() -> Any:
    return nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.Hardswish(), nn.AvgPool1d(2)), (torch.randn(2, 3, 12),)


@both
def transposed() -> Any:
    net = nn.Sequential(nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), nn.InstanceNorm2d(3, affine=True), nn.PReLU(), nn.PixelShuffle(1))
    return net, (torch.randn(1, 2, 5, 5),)


@both
def volumes() -> Any:
    return nn.Sequential(nn.Conv3d(1, 2, 2), nn.BatchNorm3d(2), nn.ELU(), nn.MaxPool3d(2), nn.Upsample(scale_factor=2.0)), (torch.randn(2, 1, 5, 5, 5),)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), nn.GRU(10, 6, batch_first=True)
        self.rnn = nn.RNN(6, 3, nonlinearity="relu", bias=False)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        out, (_, c) = self.lstm(x)
        out, last = self.gru(out, h)
        return self.rnn(out)[0], c.sum() * last


@both
def recurrent() -> Any:
    return Recurrent(), (torch.randn(2, 3, 4), torch.randn(1, 2, 6))


class Unbatched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 5, proj_size=3, dropout=0.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]


@scripted
def unbatched() -> Any:
    return Unbatched(), (torch.randn(3, 4),)


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTMCell(4, 4), nn.GRUCell(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        h, c = torch.zeros(x.size(1), 4), torch.zeros(x.size(1), 4)
        for step in x:
            h, c = self.lstm(step, (h, c))
            h = self.gru(step, h)
        return h * c


@scripted
def cells() -> Any:
    return Cells(), (torch.randn(3, 2, 4),)


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 5, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.rnn(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)


@scripted
def packed_sequences() -> Any:
    return Packed(), (torch.randn(3, 4, 4), torch.tensor([2, 4, 1]))


@both
def encoder() -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(), (torch.randn(2, 5, 8),)


@both
def encoder_at_rest() -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval(), (torch.randn(2, 5, 8),)


@both
def decoder() -> Any:
    return nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, activation="gelu"), (torch.randn(3, 2, 8), torch.randn(4, 2, 8))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        return self.attention(x, x, x, attn_mask=mask)


@scripted
def attention() -> Any:
    return Attention(), (torch.randn(2, 3, 8), torch.triu(torch.ones(3, 3), 1).bool())


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.bag = nn.Embedding(20, 6, padding_idx=0), nn.EmbeddingBag(20, 6)
        self.linear = nn.Linear(6, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(torch.cat([self.words(x).mean(1), self.bag(x)], 0)).log_softmax(-1)


@both
def embeddings() -> Any:
    return Classifier(), (torch.randint(0, 20, (3, 4)),)


class Looping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.limit: Final[int] = 5

    def forward(self, x: Tensor, steps: int) -> Tensor:
        count = 0
        while count < steps:
            if float(x.norm()) > 3.0 and count > 1:
                break
            count += 1
            if count == 2:
                continue
            for layer in self.layers:
                x = torch.tanh(layer(x))
        for i in range(steps, 0, -2):
            x = x + i if i % 2 == 0 else x - i
        for number, row in enumerate(x.unbind(0)):
            if number > 1:
                return x + row
        return x * min(count, self.limit)


@scripted
def loops() -> Any:
    return Looping(), (torch.randn(4, 4), 4)


@scripted
def early_return() -> Any:
    return Looping(), (torch.randn(1, 4), 3)


class Containers(nn.Module):
    def forward(self, words: dict[str, Tensor], numbers: list[int], maybe: Tensor | None, pair: tuple[Tensor, int]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for key, value in words.items():
            out[key.upper() + "!"] = value * pair[1]
        counts = {number: str(number) for number in numbers}
        total = 0
        for number in sorted(numbers):
            total = total * 3 + number
        if maybe is not None:
            out["maybe"] = maybe + 1
        else:
            out["none"] = pair[0]
        listed = [torch.full((2,), float(n)) for n in numbers]
        listed.append(pair[0])
        listed.insert(0, pair[0] * 2)
        last = listed.pop()
        listed[0] = last - 1
        out["stack"] = torch.stack(listed)
        out["slices"] = torch.stack(listed[1:3] + listed[-1:])
        out["total"] = torch.tensor([total, len(counts), len(numbers), int("A" in out), int(3 in numbers), numbers[-1], numbers.index(2)])
        del out["stack"]
        nested = [[1.0, 2.0], [3.0]]
        out["nested"] = torch.tensor(nested[0] + nested[1])
        return out


@scripted
def containers() -> Any:
    return Containers(), ({"a": torch.randn(2), "b": torch.ones(2)}, [3, 1, 2], None, (torch.randn(2), 3))


@scripted
def containers_with_optional() -> Any:
    return Containers(), ({"a": torch.randn(2)}, [2, 2], torch.zeros(2), (torch.randn(2), -1))


class Shade(Enum):
    DARK = "dark"
    LIGHT = "light"


class Point(NamedTuple):
    x: Tensor
    y: Tensor
    name: str = "point"


@torch.jit.script
class Stack:
    def __init__(self, start: list[Tensor], factor: float):
        self.items = start
        self.factor = factor

    def push(self, x: Tensor) -> "Stack":
        self.items.append(x * self.factor)
        return self

    def total(self) -> Tensor:
        return torch.stack(self.items).sum(0)

    def __len__(self) -> int:
        return len(self.items)

    def __add__(self, other: int) -> int:
        return len(self.items) + other


class Classes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shade = Shade.LIGHT
        self.pair = (torch.ones(2), 3)

    def forward(self, x: Tensor) -> tuple[Point, Tensor, int]:
        stack = Stack([x], 0.5)
        stack.push(x).push(x + 1)
        point = Point(x, stack.total(), "other")
        if self.shade == Shade.LIGHT and self.shade.value == "light":
            point = Point(point.y + self.pair[0], point.x)
        return point, point.x, len(stack) + (stack + 2)


@scripted
def classes() -> Any:
    return Classes(), (torch.randn(2),)


def power_of(x: Tensor, exponent: int = 2) -> Tensor:
    """Return a power."""
    return x**exponent


def doubled(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return two tensors."""
    return x * 2, x.sum()


class Forks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        futures: list[torch.jit.Future[Tensor]] = []
        for i in range(3):
            futures.append(torch.jit.fork(power_of, x + i, i))
        a, b = torch.jit.wait(torch.jit.fork(doubled, x))
        own = torch.jit.fork(self.linear, x)
        return torch.stack([torch.jit.wait(future) for future in futures]).sum(0) + a * b + torch.jit.wait(own)


@scripted
def forks() -> Any:
    return Forks(), (torch.randn(2, 3),)


@torch.jit.interface
class Shape(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

    def area(self, x: Tensor, scale: float) -> Tensor:
        pass


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 4

    @torch.jit.export
    def area(self, x: Tensor, scale: float) -> Tensor:
        return x * x * scale


class Interfaces(nn.Module):
    shape: Shape

    def __init__(self) -> None:
        super().__init__()
        self.shape = Square()

    def forward(self, x: Tensor) -> Tensor:
        return self.shape.forward(x) + self.shape.area(x, 2.0)


@scripted
def interfaces() -> Any:
    return Interfaces(), (torch.randn(3),)


class Unions(nn.Module):
    def forward(self, x: Tensor | int | list[Tensor], y: int | None = None) -> Tensor:
        if isinstance(x, int):
            return torch.tensor(x + 1)
        if isinstance(x, Tensor):
            assert y is None or y > 0, "y must be positive"
            return x * (2 if y is None else y)
        return x[0] + 1


@scripted
def unions_of_a_number() -> Any:
    return Unions(), (3,)


@scripted
def unions_of_a_list() -> Any:
    return Unions(), ([torch.ones(2)],)


class Counting(nn.Module):
    seen: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(3), persistent=False)
        self.seen = [0]
        self.total = 0.5
        self.table: dict[str, float] = {"a": 1.0}

    def forward(self, x: Tensor) -> tuple[Tensor, float, list[int]]:
        self.count += 1
        self.mean = self.mean * 0.5 + x * 0.5
        self.seen.append(x.numel())
        self.total = self.total + float(x.numel())
        self.table["b"] = self.total
        if self.training:
            return self.mean * self.count, self.total, self.seen
        return self.mean, self.table["b"], self.seen


@scripted
def mutated_state() -> Any:
    return Counting(), (torch.randn(3),)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(3) * i) for i in range(1, 3)])
        self.named = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.second(self.first(x)) * self.scales[0] + self.scales[1] * self.frozen
        for key, layer in self.named.items():
            x = layer(x) if key == "relu" else layer(x) + 1
        return x


@both
def shared_modules() -> Any:
    return Shared(), (torch.randn(2, 3),)


class Dicts(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return {"a": x * 2, "b": x + torch.tensor([1.0, 2.0])}


def _strict_dict() -> Any:
    return torch.jit.trace(Dicts(), (torch.randn(2),), strict=False, check_trace=False), (torch.randn(2),)


class Flat(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * 2, (x + 1, [x - 1, x * torch.tensor([1.0, 2.0])])


@traced
def nested_results() -> Any:
    return Flat(), (torch.randn(2),)


class Complexes(nn.Module):
    def forward(self, x: Tensor, z: complex) -> list[Tensor]:
        spectrum = torch.fft.rfft(x)
        window = torch.hann_window(4)
        return [spectrum.abs(), torch.fft.irfft(spectrum, 8), torch.stft(x[0], 4, hop_length=2, window=window, return_complex=True).abs(),
                torch.view_as_real(spectrum), (spectrum * z).real, torch.tensor(abs(z))]  # fmt: skip


@scripted
def complexes() -> Any:
    return Complexes(), (torch.randn(2, 8), 1 + 2j)


class Grads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = self.linear(x).abs().max()
        if bool(scale.requires_grad):
            return x
        return x / scale


@scripted
def no_grad() -> Any:
    return Grads(), (torch.randn(2, 3),)


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@traced
def weight_norm() -> Any:
    return Weighted(), (torch.randn(2, 3),)


class Methods(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    @torch.jit.export
    def halved(self, x: Tensor, times: int = 1) -> Tensor:
        for _ in range(times):
            x = x / 2
        return x

    @torch.jit.export
    def guarded(self, x: Tensor, positive: bool) -> Tensor:
        if positive and bool((x < 0).any()):
            raise ValueError(f"negative: {x.dim()}")
        return x

    def forward(self, x: Tensor) -> Tensor:
        return self.halved(self.linear(x), 2)


@scripted
def methods() -> Any:
    return Methods(), (torch.randn(2, 2),)


@scripted
def bare_function() -> Any:
    return power_of, (torch.randn(3), 3)


SAMPLES["traced_dict"] = _strict_dict
