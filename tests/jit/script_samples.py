# ruff: noqa: UP006, UP007, UP035, UP045
"""Modules and functions that are scripted, each with the arguments of a call: under torch's name, real or mstorch's."""

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SAMPLES: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {}
SCALE = 0.5
R = torch.randn


def sample(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Callable[[], Any]:
    """Register a function that returns a module, or a function, and arguments."""
    SAMPLES[make.__name__] = lambda: _scripted(*make())
    return make


def _scripted(made: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    return torch.jit.script(made), args


class Block(nn.Module):
    width: Final[int]

    def __init__(self, width: int, down: bool) -> None:
        super().__init__()
        self.width = width
        self.linear = nn.Linear(width, width)
        self.down = nn.Linear(width, width) if down else None
        if down:
            self.extra = 3

    @property
    def doubled(self) -> int:
        return self.width * 2

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        if self.down is not None:
            x = self.down(x)
        if hasattr(self, "extra"):
            y = y + self.extra
        if self.width > 2 and not self.training:
            y = y * self.width
        return F.relu(x + y) / self.doubled


@sample
def static_choices() -> Any:
    return nn.Sequential(Block(4, True), Block(4, False)).eval(), (R(2, 4),)


def _on_parts(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)  # (torch's compiler has no form for this)


class Checked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.again, self.layers = False, nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        torch._assert(x.dim() == 2, f"a matrix is needed, not {x.dim()} dimensions")
        torch._assert(x.shape[1] == 4, "four columns")
        if self.again and not torch.jit.is_scripting():
            x = _on_parts(self.layers, x)
        else:
            x = self.layers(x)
        return x


@sample
def checks_and_branches_of_python() -> Any:
    return Checked(), (R(2, 4),)


class Holders(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)])
        self.table = nn.ModuleDict({"first": nn.Linear(4, 4), "second": nn.Sigmoid()})
        self.weights = nn.ParameterList([nn.Parameter(R(4)) for _ in range(3)])
        self.named = nn.ParameterDict({"a": nn.Parameter(R(4))})
        self.tail = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x: Tensor, shifts: List[float]) -> Tensor:
        for layer, shift in zip(self.layers, shifts):
            x = layer(x) + shift
        for place, (name, module) in enumerate(self.table.items()):
            x = module(x) * (place + len(name))
        for weight in self.weights:
            x = x + weight
        x = x + self.named["a"] + self.weights[-1]
        x = self.table["first"](x)
        for layer in reversed(self.layers[1:]):
            x = layer(x)
        outs = [layer(x) for layer in self.layers]
        return self.tail[2](self.tail[:2][0](x)) + torch.stack(outs).mean() * len(self.layers)


@sample
def holders() -> Any:
    return Holders(), (R(3, 4), [0.5, 1.0, 2.0])


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def scaled(self, x: Tensor, factor: float = 2.0) -> Tensor:
        return x * factor

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.linear(x))


class Derived(Base):
    def scaled(self, x: Tensor, factor: float = 3.0) -> Tensor:
        return super().scaled(x, factor) + 1

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) - 1


@sample
def inherited() -> Any:
    return Derived(), (R(2, 3),)


class Cell(nn.Module):
    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Linear(size + hidden, 4 * hidden)

    def forward(self, x: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if state is None:
            zeros = torch.zeros(x.size(0), self.hidden, dtype=x.dtype, device=x.device)
            state = (zeros, zeros)
        h, c = state
        i, f, g, o = self.gates(torch.cat([x, h], dim=1)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell(3, 4)
        self.rest = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 6)
        self.one, self.two, self.three = nn.LSTMCell(6, 6), nn.GRUCell(6, 6), nn.RNNCell(6, 6)

    def forward(self, x: Tensor, lengths: List[int]) -> Tuple[Tensor, List[Tensor]]:
        outs: List[Tensor] = []
        state: Optional[Tuple[Tensor, Tensor]] = None
        for t in range(x.size(1)):
            out, state = self.cell(x[:, t], state)
            outs.append(out)
        y, (h, c) = self.rest(torch.stack(outs, dim=1))
        y, _ = self.gru(y)
        last, _ = self.one(y[:, 0])
        last = self.three(self.two(last), last)
        return y, [y[i, :n] for i, n in enumerate(lengths)] + [h.sum(), c.sum(), last]


@sample
def recurrent_by_hand() -> Any:
    return Recurrent(), (R(2, 5, 3), [3, 5])


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8, padding_idx=0)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True, dropout=0.0), 1, nn.LayerNorm(8))
        self.out = nn.Linear(8, 11)

    def encode(self, words: Tensor) -> Tuple[Tensor, Tensor]:
        padded = words == 0
        return self.encoder(self.embed(words), src_key_padding_mask=padded), padded

    @torch.jit.export
    def step(self, memory: Tensor, padded: Tensor, words: Tensor) -> Tensor:
        n = words.size(1)
        causal = torch.triu(torch.full([n, n], float("-inf")), diagonal=1)
        y = self.decoder(self.embed(words), memory, tgt_mask=causal, memory_key_padding_mask=padded)
        return self.out(y)[:, -1]

    def forward(self, words: Tensor, most: int = 5) -> Tensor:
        memory, padded = self.encode(words)
        result = torch.ones([words.size(0), 1], dtype=torch.long)
        done = torch.zeros(words.size(0), dtype=torch.bool)
        while result.size(1) < most:
            word = self.step(memory, padded, result).argmax(-1)
            word = word.masked_fill(done, 0)
            result = torch.cat([result, word[:, None]], 1)
            done = done | (word == 2)
            if bool(done.all()):
                break
        return result


@sample
def greedy_decoding() -> Any:
    return Translator().eval(), (torch.tensor([[3, 4, 5, 0], [6, 7, 8, 9]]),)


@sample
def attention_and_transformer() -> Any:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.other = nn.MultiheadAttention(8, 4, kdim=6, vdim=5)
            self.transformer = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)

        def forward(self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> List[Tensor]:
            y, weights = self.attention(x, x, x, attn_mask=mask)
            z, shares = self.other(x, k, v, need_weights=True, average_attn_weights=False)
            w, none = self.attention(x, x, x, need_weights=False)
            assert weights is not None and shares is not None
            return [y, weights, z, shares, w, self.transformer(x, y)]

    return Both().eval(), (R(3, 3, 8), R(4, 3, 6), R(4, 3, 5), torch.triu(torch.ones(3, 3), 1).bool())


def spoken(words: List[str], counts: Dict[str, int], width: int = 3) -> Tuple[str, List[str], Dict[str, List[int]], bool]:
    lines: List[str] = []
    places: Dict[str, List[int]] = {}
    for place, word in enumerate(words):
        clean = word.strip().lower().replace("-", "_")
        if clean not in places:
            places[clean] = []
        places[clean].append(place)
        if len(clean) > width or clean.startswith("a"):
            lines.append(f"{place}: {clean} ({counts.get(clean, 0)})")
        elif not clean.isalpha():
            continue
        else:
            lines.append("%s-%d" % (clean, place))  # noqa: UP031
    del places[words[0].strip().lower()]
    text = ", ".join(lines) + f" | {len(lines)} of {len(words)}"
    return text + "é\n\"quoted\"", sorted([key for key in places if len(key) > 1]), places, "of" in text and text[0:1] != text[-1]


@sample
def texts() -> Any:
    return spoken, (["First ", "an-x", "b", "c1", "later"], {"later": 4})


def chosen(x: Tensor, a: Optional[int] = None, b: Optional[Tensor] = None, mode: str = "mean") -> Tensor:
    if a is None and b is None:
        return x
    if a is not None and (b is None or b.size(0) > a > 1):
        y = x + a
    else:
        y = x - (0 if a is None else a)
    if mode == "mean":
        return y.mean() if b is None else y.mean() + b.sum()
    elif mode == "sum":
        if not 0 < y.dim() <= 2:
            return y
        return y.sum()
    else:
        raise ValueError(f"mode {mode}")


@sample
def optionals() -> Any:
    return chosen, (R(2, 3), 2, R(4), "sum")


@sample
def optionals_of_none() -> Any:
    return chosen, (R(2, 3), None, R(4))


class Kind(Enum):
    LOW = 1
    HIGH = 2


class Pair(NamedTuple):
    left: Tensor
    right: Tensor
    weight: float = 0.5


class Bag:
    items: Dict[str, Tensor]

    def __init__(self, first: Tensor, size: int = 2) -> None:
        self.items = {"first": first}
        self.size = size
        self.log: List[str] = []

    def add(self, name: str, x: Tensor) -> None:
        self.items[name] = x * self.size
        self.log.append(name)

    def __getitem__(self, name: str) -> Tensor:
        return self.items[name]

    def __contains__(self, name: str) -> bool:
        return name in self.items

    def __len__(self) -> int:
        return len(self.items)


class Objects(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kind = Kind.HIGH
        self.pair: Tuple[int, float] = (2, 0.25)

    def forward(self, x: Tensor) -> Tuple[Pair, int, str]:
        bag = Bag(x, size=3)
        bag.add("more", x + 1)
        pair = Pair(bag["first"], right=bag["more"])
        if self.kind is Kind.HIGH or self.kind == Kind.LOW:
            pair = Pair(pair.left * pair.weight, pair.right, weight=float(self.pair[1]))
        left, right, weight = pair
        count = len(bag) + bag.size
        if "more" in bag and "less" not in bag:
            count += 1
        return Pair(left + right, right, weight), count, bag.log[-1] + Kind.LOW.name


@sample
def objects() -> Any:
    return Objects(), (R(3),)


class Stateful(nn.Module):
    seen: List[Tensor]
    by_name: Dict[str, int]
    last: Optional[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("none", None)
        self.register_buffer("hidden", torch.ones(1), persistent=False)
        self.count = 0
        self.seen = []
        self.by_name = {}
        self.last = None
        self.rate = 0.5

    def forward(self, x: Tensor) -> Tuple[Tensor, int, int]:
        for row in x:
            self.total += row
            self.count += 1
            self.seen.append(row)
        self.by_name["calls"] = self.by_name.get("calls", 0) + 1
        last = self.last
        if last is not None:
            x = x + last
        self.last = x.detach()
        self.total = self.total * self.rate + self.hidden
        return x + self.total, self.count + len(self.seen), self.by_name["calls"]


@sample
def state_that_changes() -> Any:
    return Stateful(), (R(2, 3),)


def arithmetic(n: int, f: float, x: Tensor) -> Tuple[List[int], List[float], List[Tensor], bool]:
    whole = [n // 3, n % 3, -n // 3, n << 2, n >> 1, n & 6, n | 1, n ^ 5, abs(-n), min(n, 3), max(n, 3), int(f), divmod(n, 4)[1]]
    m = n
    m += 2
    m *= 3
    m -= 1
    floats = [n / 2, f**2, math.sqrt(f), math.pi * f, math.floor(f) + 0.5, float(n), max(f, 1.0), -f, f // 0.3, f % 0.3, math.exp(f), math.log(f), SCALE, math.pow(f, 2.0), float("inf")]
    f /= 2
    tensors = [x + n, n - x, 2 / x, x // 2, 2**x, x % 2, -x, x @ x.T, x < n, (x > 0) & (x < 1), ~(x > 0), x.pow(2) * f, x * (m == 3 * (n + 2) - 1), n * x]
    y = x.clone()
    y += 1
    y *= f
    y /= 3
    y -= x
    tensors.append(y)
    return whole, floats, tensors, n > 2 or f < 1 and not n == 5


@sample
def numbers() -> Any:
    return arithmetic, (7, 1.25, R(3, 3).abs() + 0.1)


class Typed(nn.Module):
    def forward(self, value: Union[int, List[int], Tensor], other: Any) -> Tensor:
        if isinstance(value, int):
            x = torch.full([2], float(value))
        elif isinstance(value, Tensor):
            x = value + 1
        else:
            x = torch.tensor(value)
        if isinstance(other, Tensor):
            x = x + other
        out = torch.jit.annotate(List[Tensor], [])
        for i in range(2):
            out.append(x * i)
        return torch.cat(out)


@sample
def kinds_of_values() -> Any:
    return Typed(), ([1, 2], R(2))


class Commented(nn.Module):
    def forward(self, x, n, flag=True):
        # type: (Tensor, int, bool) -> Tuple[Tensor, List[int]]
        sizes = [i * n for i in range(n) if i % 2 == 0 or flag]
        return x * n, sizes


@sample
def type_comments() -> Any:
    return Commented(), (R(2), 3)


def helper(x: Tensor, *, factor: float = 2.0, names: Optional[List[str]] = None) -> Tensor:
    count = 0 if names is None else len(names)
    return x * factor + count


class Comprehensions(nn.Module):
    def forward(self, x: Tensor, table: Dict[str, Tensor], pairs: List[Tuple[int, Tensor]]) -> Tuple[List[Tensor], Dict[str, Tensor], Tensor]:
        rows = [row * i for i, row in enumerate(x) if i != 1]
        turned = {key + "!": value.t() for key, value in table.items()}
        total = torch.zeros_like(x[0])
        for i, (n, one) in enumerate(pairs):
            total = total + one * n + i
        for i, (n, one) in enumerate(pairs, len(table)):
            total = total + one * n * i
        for i, row in enumerate(rows, start=2):
            total = total + row * i
        (a, b), c = (rows[0], rows[1]), len(table)
        total = total + a - b + c
        for key in table:
            for i in range(10, 0, -3):
                if i == 7:
                    continue
                if i < 4:
                    break
                total = total + i * len(key)
        k = 0
        while True:
            k += 1
            if k > 5:
                break
        return rows, turned, helper(total, factor=0.5, names=[f"{k}"]) + helper(total)


@sample
def comprehensions() -> Any:
    return Comprehensions(), (R(3, 2), {"a": R(2, 3)}, [(1, R(2)), (2, R(2))])


class Unrun(nn.Module):
    @torch.jit.unused
    def drawn(self, x: Tensor) -> Tensor:
        import random

        return x * random.random()

    def forward(self, x: Tensor, draw: bool = False) -> Tensor:
        if torch.jit.is_scripting():
            x = x * 1
        if draw:
            x = self.drawn(x)
        with torch.no_grad():
            scale = x.abs().max()
        if not torch.jit.is_scripting():
            x = self.drawn(x) * 0 + x
        return x / scale


@sample
def unused_methods() -> Any:
    return Unrun(), (R(3),)


def parts(x: Tensor, xs: List[int], t: Tuple[int, str, Tensor]) -> Tuple[List[int], int, Tensor, Tensor, List[int]]:
    x = x.clone()
    x[0, 1:] = 5.0
    x[x > 4] = -1.0
    x[:, 0] += 2
    x[[0, 1], [1, 2]] = 0.25
    xs[0] = 9
    xs[-1] += 1
    ys = xs[1:] + xs[:-1][::2]
    ys.reverse()
    n = t[0] + len(t[1]) + t[-1].numel()
    return ys, n, x[..., None, -1] + t[2], x[:: 2, 1:x.size(1) - 1], list(x.shape) + [x.shape[-1], x.dim()]


@sample
def indices() -> Any:
    return parts, (R(3, 4), [1, 2, 3, 4], (2, "ab", R(3, 1)))


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.steps: Final[int] = 3

    def refined(self, x: Tensor, most: int) -> Tuple[Tensor, bool]:
        for i in range(most):
            y = self.a(x) if i % 2 == 0 else self.b(x)
            if float((y - x).abs().max()) < 0.1:
                return y, True
            if i > 5:
                if i > 7:
                    return x, False
                x = x * 0.9
            else:
                x = (x + y) / 2
        return x, False

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        y, done = self.refined(x, self.steps)
        result = {"y": y}
        if done:
            result["done"] = torch.tensor(True)
        elif y.dtype == torch.float32 and y.device.type == "cpu":
            result["rest"] = y.to(torch.float64)
        return result


@sample
def branches() -> Any:
    return Branches(), (R(2, 2),)


class Waiting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def half(self, x: Tensor) -> Tensor:
        return x / 2

    def forward(self, x: Tensor) -> Tensor:
        futures = [torch.jit.fork(self.half, x), torch.jit.fork(self.linear, x)]
        return torch.jit.wait(futures[0]) + torch.jit.wait(futures[1]) + torch.jit.wait(torch.jit.fork(helper_of_one, x))


def helper_of_one(x: Tensor) -> Tensor:
    return x.sigmoid()


@sample
def forks() -> Any:
    return Waiting(), (R(2, 3),)


def _numbers_of_tensors(x: Tensor, flag: bool) -> Tensor:
    scale: Optional[float] = None
    total, first, place = 0.5, 1.5, 3
    if flag:
        scale = x.min().item()
        first = x.max()
        place = x.argmax().item()
    for _ in range(2):
        total += x.max().item()
        total *= x.min()
    x = x * total + x * first + F.leaky_relu(x, x.max().item()) + torch.clamp(x, max=x.min())
    return x if scale is None else x * scale + place


@sample
def numbers_that_tensors_become() -> Any:
    return _numbers_of_tensors, (R(5) + 2, True)


def _scaled_or_not(x: Tensor, scale: Optional[float], size: Optional[int]) -> Tensor:
    rows: List[List[float]] = x[0, 0].tolist()
    x = x * rows[1][2]
    return F.interpolate(x, size, scale, mode="bilinear", recompute_scale_factor=scale is not None)


@sample
def one_number_for_all_sides() -> Any:
    return _scaled_or_not, (R(1, 2, 4, 6), 1.5, None)
