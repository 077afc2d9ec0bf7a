"""Half precision, beside torch: operations and conversions on matrices of 256 × 256, and programs; each written once for either library."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from networks import NETWORKS, encoder

Step = Callable[[], Any]


def half_operations(torch: Any, kind: str, side: int) -> dict[str, Step]:
    """Operations in a half precision on matrices of ``side`` rows and columns, and images of as many numbers."""
    F = torch.nn.functional
    dtype = getattr(torch, kind)
    single = torch.randn(side, side)
    a, b, row = single.to(dtype), torch.randn(side, side).to(dtype), torch.randn(side).to(dtype)
    batch = [torch.randn(8, side // 2, 64).to(dtype), torch.randn(8, 64, side // 2).to(dtype)]
    heads = [torch.randn(4, 4, side // 2, 32).to(dtype) for _ in range(3)]
    image, filters = torch.randn(8, 32, side // 8, side // 8).to(dtype), torch.randn(32, 32, 3, 3).to(dtype)
    scale = torch.ones(32).to(dtype)
    return {
        "from float32": lambda: single.to(dtype),
        "to float32": lambda: a.float(),
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "sub": lambda: a - b,
        "div": lambda: a / b,
        "add a number": lambda: a + 1.5,
        "mul a number": lambda: a * 1.5,
        "add a row": lambda: a + row,
        "relu": lambda: a.relu(),
        "gelu": lambda: F.gelu(a),
        "silu": lambda: F.silu(a),
        "exp": lambda: a.exp(),
        "sigmoid": lambda: a.sigmoid(),
        "tanh": lambda: a.tanh(),
        "sum": lambda: a.sum(),
        "mean of rows": lambda: a.mean(-1, keepdim=True),
        "softmax": lambda: a.softmax(-1),
        "layer_norm": lambda: F.layer_norm(a, (side,), row, row),
        "rms_norm": lambda: F.rms_norm(a, (side,), row),
        "matmul": lambda: a @ b,
        "linear": lambda: F.linear(a, b, row),
        "linear of one row": lambda: F.linear(a[:1], b),
        "bmm": lambda: torch.bmm(*batch),
        "attention": lambda: F.scaled_dot_product_attention(*heads),
        "conv2d": lambda: F.conv2d(image, filters, padding=1),
        "batch_norm": lambda: F.batch_norm(image, None, None, scale, scale, True),
        "max_pool2d": lambda: F.max_pool2d(image, 2),
    }  # fmt: skip


def half_gradients(torch: Any, kind: str, side: int) -> dict[str, Step]:
    """Operations in a half precision with their gradients."""
    F = torch.nn.functional
    dtype = getattr(torch, kind)

    def leaf(*shape: int) -> Any:
        return torch.randn(*shape).to(dtype).requires_grad_()

    square, row = (side, side), (side,)
    image = (8, 32, side // 8, side // 8)
    cases: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "mul": (lambda a, b: a * b, [leaf(*square), leaf(*square)]),
        "relu": (lambda a: a.relu(), [leaf(*square)]),
        "gelu": (F.gelu, [leaf(*square)]),
        "silu": (F.silu, [leaf(*square)]),
        "softmax": (lambda a: a.softmax(-1), [leaf(*square)]),
        "layer_norm": (lambda a, w, b: F.layer_norm(a, (side,), w, b), [leaf(*square), leaf(*row), leaf(*row)]),
        "linear": (F.linear, [leaf(*square), leaf(*square), leaf(*row)]),
        "attention": (F.scaled_dot_product_attention, [leaf(4, 4, side // 2, 32) for _ in range(3)]),
        "conv2d": (lambda a, w: F.conv2d(a, w, padding=1), [leaf(*image), leaf(32, 32, 3, 3)]),
        "batch_norm": (lambda a, w, b: F.batch_norm(a, None, None, w, b, True), [leaf(*image), leaf(32), leaf(32)]),
    }

    def both(function: Callable[..., Any], leaves: list[Any]) -> Step:
        gradient = torch.ones_like(function(*leaves))

        def step() -> None:
            function(*leaves).backward(gradient)
            for item in leaves:
                item.grad = None

        return step

    return {name: both(function, leaves) for name, (function, leaves) in cases.items()}


def autocast_training(torch: Any, name: str) -> Step:
    """A training step of one of ``networks.py`` under autocast."""
    model, inputs, target, loss, optimizer = NETWORKS[name](torch)

    def train() -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            value = loss(model(*inputs), target)
        value.backward()
        optimizer.step()
        return value.item()

    return train


def half_encoder(torch: Any) -> Step:
    """Inference of Transformer encoder layers in bfloat16."""
    model, inputs, *_ = encoder(torch)
    model = model.bfloat16().eval()

    def infer() -> float:
        with torch.no_grad():
            return float(model(*inputs).reshape(-1)[0])

    return infer


def _llama(torch: Any, kind: str) -> Any:
    """A Llama as transformers writes it: 8 layers, width 512, 8 heads, 1,376 inside, rotary places, RMS norms, gated SiLU."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, inside, layers, words = 512, 8, 1376, 8, 4096
    each = width // heads

    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: Any) -> Any:
            kind = x.dtype
            x = x.to(torch.float32)
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
            return self.weight * x.to(kind)

    def turned(x: Any) -> Any:
        return torch.cat((-x[..., each // 2 :], x[..., : each // 2]), dim=-1)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.gate, self.up = nn.Linear(width, inside, bias=False), nn.Linear(width, inside, bias=False)
            self.down = nn.Linear(inside, width, bias=False)
            self.before, self.after = Norm(), Norm()

        def forward(self, x: Any, cos: Any, sin: Any, past: list[Any]) -> Any:
            rows, length, _ = x.shape
            normal = self.before(x)
            q, k, v = (part(normal).view(rows, length, heads, each).transpose(1, 2) for part in (self.q, self.k, self.v))
            q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
            if past:
                k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
            past[:] = [k, v]
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + self.o(seen.transpose(1, 2).contiguous().view(rows, length, width))
            normal = self.after(x)
            return x + self.down(F.silu(self.gate(normal)) * self.up(normal))

    class Llama(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.norm = nn.Embedding(words, width), Norm()
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, ids: Any, past: list[list[Any]]) -> Any:
            seen = past[0][0].shape[2] if past[0] else 0
            places = torch.arange(seen, seen + ids.shape[1]).float()
            rates = 1.0 / 10000.0 ** (torch.arange(0, each, 2).float() / each)
            angles = torch.cat([places[:, None] * rates] * 2, -1)
            x = self.words(ids)
            cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
            for layer, own in zip(self.layers, past):
                x = layer(x, cos, sin, own)
            return self.head(self.norm(x)[:, -1:])

    return Llama().to(getattr(torch, kind)).eval(), layers


def llama_prefill(torch: Any, kind: str) -> Step:
    """64 words at once."""
    model, layers = _llama(torch, kind)
    ids = torch.randint(0, 4096, (1, 64))

    def prefill() -> None:
        with torch.no_grad():
            model(ids, [[] for _ in range(layers)])

    return prefill


def llama_words(torch: Any, kind: str) -> tuple[Step, int]:
    """32 words, one after another, behind 16; and how many they are."""
    model, layers = _llama(torch, kind)
    ids = torch.randint(0, 4096, (1, 16))
    count = 32

    def generate() -> None:
        with torch.no_grad():
            past: list[list[Any]] = [[] for _ in range(layers)]
            word = model(ids, past).argmax(-1)
            for _ in range(count - 1):
                word = model(word, past).argmax(-1)

    return generate, count


def half(torch: Any, name: str, median_of: Callable[[Step, float], float]) -> dict[str, float]:
    """Times of what ``name`` says: "bfloat16" or "float16" operations, or a program."""
    if name in ("bfloat16", "float16"):
        sizes = (256, 1024) if name == "bfloat16" else (256,)
        found = {}
        for side in sizes:
            with torch.no_grad():
                for job, step in half_operations(torch, name, side).items():
                    if name == "bfloat16" or job not in ("matmul", "linear", "bmm", "attention", "conv2d"):  # torch takes 10 to 600 ms
                        found[f"{job}, {name}, {side}"] = median_of(step, 0.1)
            if name == "bfloat16":
                for job, step in half_gradients(torch, name, side).items():
                    found[f"{job} with backward, {name}, {side}"] = median_of(step, 0.15)
        return found
    if name == "encoder":
        return {"bfloat16 encoder": median_of(half_encoder(torch), 1)}
    if name.startswith("llama"):
        kind = name.split()[1]
        step, count = llama_words(torch, kind)
        return {f"{kind} llama, a word": median_of(step, 1.5) / count, f"{kind} llama, 64 words": median_of(llama_prefill(torch, kind), 1)}
    return {f"autocast {name}": median_of(autocast_training(torch, name), 2)}


HALVES = ("bfloat16", "float16", "mlp", "cnn", "gpt", "encoder", "llama bfloat16", "llama float32")
