"""Models as users write them, for the steps of ``launched.py``: a GPT with a mask of padding and a causal one that are added, a network of
encoder and decoder with keys that are padding, and low-rank adapters of a frozen GPT."""
from __future__ import annotations

import importlib
from typing import Any

Program = tuple[Any, Any, Any, Any]
WIDTH, HEADS, WORDS = 64, 4, 50


def _block(torch: Any, cross: bool = False) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.third = (nn.LayerNorm(WIDTH) for _ in range(3))
            self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.cross = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True) if cross else None
            self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def forward(self, x: Any, mask: Any, memory: Any = None, padding: Any = None) -> Any:
            n, length, _ = x.shape
            y = self.first(x)
            q, k, v = (part(y).view(n, length, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(n, length, WIDTH))
            if self.cross is not None:
                x = x + self.cross(self.third(x), memory, memory, key_padding_mask=padding, need_weights=False)[0]
            return x + self.mlp(self.second(x))

    return Block()


def _gpt(torch: Any) -> Any:
    nn = torch.nn

    class GPT(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(WORDS, WIDTH), nn.Embedding(32, WIDTH)
            self.blocks = nn.ModuleList(_block(torch) for _ in range(4))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, x: Any, kept: Any) -> Any:
            length = x.shape[1]
            h = self.token(x) + self.position(torch.arange(length, device=x.device))
            later = torch.full((length, length), float("-inf"), device=x.device).triu(1)
            mask = later[None, None] + (1.0 - kept[:, None, None, :].float()) * torch.finfo(torch.float32).min
            for block in self.blocks:
                h = block(h, mask)
            return self.head(self.norm(h))

    return GPT()


def _next_word(model: Any, x: Any, kept: Any) -> Any:
    F = importlib.import_module("torch").nn.functional
    return F.cross_entropy(model(x, kept)[:, :-1].reshape(-1, WORDS), x[:, 1:].reshape(-1))


def _padded_batch() -> tuple[Any, Any]:
    torch = importlib.import_module("torch")
    kept = torch.ones(2, 12, dtype=torch.int64)
    kept[0, :3] = 0
    return torch.randint(WORDS, (2, 12)), kept


def padded(place: str) -> Program:
    """Return a GPT whose first sentence begins with padding."""
    torch = importlib.import_module("torch")
    model = _gpt(torch).to(place)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True), _padded_batch, _next_word


def adapted(place: str) -> Program:
    """Return a frozen GPT with low-rank adapters of queries and values, whose gradients are clipped."""
    torch = importlib.import_module("torch")
    nn, F = torch.nn, torch.nn.functional

    class Adapter(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer = layer
            self.down, self.up = nn.Parameter(torch.randn(4, WIDTH) * 0.01), nn.Parameter(torch.zeros(WIDTH, 4))

        def forward(self, x: Any) -> Any:
            return self.layer(x) + F.linear(F.linear(x, self.down), self.up) * 2.0

    model = _gpt(torch).requires_grad_(False)
    for block in model.blocks:
        block.q, block.v = Adapter(block.q), Adapter(block.v)
    model.to(place)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, foreach=True)

    def before(*_: Any) -> None:
        nn.utils.clip_grad_norm_(trained, 1.0, foreach=True)

    optimizer.register_step_pre_hook(before)
    return model, optimizer, _padded_batch, _next_word


def translation(place: str) -> Program:
    """Return an encoder and a decoder with attention to the encoder's words that are not padding."""
    torch = importlib.import_module("torch")
    nn, F = torch.nn, torch.nn.functional

    class Translation(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Embedding(WORDS, WIDTH, padding_idx=0)
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 128, 0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.decoder = nn.ModuleList(_block(torch, True) for _ in range(2))
            self.head = nn.Linear(WIDTH, WORDS)

        def forward(self, source: Any, target: Any) -> Any:
            padding, length = source == 0, target.shape[1]
            memory, x = self.encoder(self.token(source), src_key_padding_mask=padding), self.token(target)
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            for block in self.decoder:
                x = block(x, mask, memory, padding)
            return self.head(x)

    def batch() -> tuple[Any, Any]:
        source = torch.randint(1, WORDS, (2, 9))
        source[0, 6:] = 0
        return source, torch.randint(1, WORDS, (2, 7))

    def loss(model: Any, source: Any, target: Any) -> Any:
        return F.cross_entropy(model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)

    model = Translation().to(place)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True), batch, loss
