"""Nine more networks, each small, written once for whatever library is called torch; with those of ``networks.py`` they are sixteen.

The structure is that of the published networks (their blocks, norms, activations and attention), the sizes are small: a step takes 10 to
200 ms. ``MORE[name](torch)`` gives what ``NETWORKS[name](torch)`` gives.
"""
from __future__ import annotations

import math
from typing import Any

from networks import Job

_WORDS = 1000


def _of_words(torch: Any, model: Any, tokens: tuple[int, int], masked: bool = False) -> Job:
    """A network that predicts words, with AdamW."""
    words = torch.randint(0, _WORDS, tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(output: Any, target: Any) -> Any:
        return torch.nn.functional.cross_entropy(output.reshape(-1, _WORDS), target)

    return model, (words,), torch.randint(0, _WORDS, (tokens[0] * tokens[1],)), loss, optimizer


def _of_images(torch: Any, model: Any, count: int, side: int) -> Job:
    """A network that tells ten kinds of images apart, with SGD with momentum."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return model, (torch.randn(count, 3, side, side),), torch.randint(0, 10, (count,)), torch.nn.functional.cross_entropy, optimizer


def bert(torch: Any) -> Job:
    """Four layers of width 128 with norms behind, GELU, sentence embeddings and a mask, 8 × 64 words (https://arxiv.org/abs/1810.04805)."""
    nn, F = torch.nn, torch.nn.functional
    width, heads = 128, 4

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
            self.out, self.up, self.down = nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.norm, self.last, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.1)

        def forward(self, x: Any, mask: Any) -> Any:
            n, length, _ = x.shape
            q, k, v = (f(x).view(n, length, heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(n, length, width)
            x = self.norm(x + self.dropout(self.out(mixed)))
            return self.last(x + self.dropout(self.down(F.gelu(self.up(x)))))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.kinds = nn.Embedding(_WORDS, width), nn.Embedding(64, width), nn.Embedding(2, width)
            self.norm, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.1)
            self.layers = nn.ModuleList([Layer() for _ in range(4)])
            self.dense, self.after, self.out = nn.Linear(width, width), nn.LayerNorm(width), nn.Linear(width, _WORDS)

        def forward(self, words: Any) -> Any:
            places = torch.arange(words.shape[1])
            x = self.words(words) + self.places(places) + self.kinds(torch.zeros_like(words))
            x = self.dropout(self.norm(x))
            mask = (words > 0)[:, None, None, :].to(x.dtype)
            mask = (1.0 - mask) * -10000.0
            for layer in self.layers:
                x = layer(x, mask)
            return self.out(self.after(F.gelu(self.dense(x))))

    return _of_words(torch, Bert(), (8, 64))


def gpt2(torch: Any) -> Job:
    """Four layers of width 128 with norms in front, GELU by tanh and tied embeddings, 8 × 64 words."""
    nn, F = torch.nn, torch.nn.functional
    width, heads = 128, 4

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.attend, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.after, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.dropout = nn.Dropout(0.1)

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            q, k, v = (part.view(n, length, heads, -1).transpose(1, 2) for part in self.attend(self.norm(x)).split(width, dim=2))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, length, width)
            x = x + self.dropout(self.out(mixed))
            return x + self.dropout(self.down(F.gelu(self.up(self.after(x)), approximate="tanh")))

    class Gpt2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.dropout = nn.Embedding(_WORDS, width), nn.Embedding(64, width), nn.Dropout(0.1)
            self.blocks, self.norm = nn.ModuleList([Block() for _ in range(4)]), nn.LayerNorm(width)

        def forward(self, words: Any) -> Any:
            x = self.dropout(self.words(words) + self.places(torch.arange(words.shape[1])))
            for block in self.blocks:
                x = block(x)
            return F.linear(self.norm(x), self.words.weight)

    return _of_words(torch, Gpt2(), (8, 64))


class _Parts:
    """Return the parts that Llama and T5 have in common."""

    def __init__(self, torch: Any) -> None:
        nn = torch.nn

        class Norm(nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.ones(width))

            def forward(self, x: Any) -> Any:
                wide = x.float()
                return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

        self.Norm = Norm


def llama(torch: Any) -> Job:
    """Four layers of width 128 with RMS norms, rotary embeddings, two key heads and SiLU gates, 4 × 64 words."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, keys = 128, 4, 2
    size, Norm = width // heads, _Parts(torch).Norm

    def turned(x: Any, cos: Any, sin: Any) -> Any:
        half = x.shape[-1] // 2
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(width, count * size, bias=False) for count in (heads, keys, keys))
            self.o, self.down = nn.Linear(width, width, bias=False), nn.Linear(3 * width, width, bias=False)
            self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
            self.before, self.after = Norm(width), Norm(width)

        def forward(self, x: Any, cos: Any, sin: Any) -> Any:
            n, length, _ = x.shape
            h = self.before(x)
            q, k, v = (f(h).view(n, length, -1, size).transpose(1, 2) for f in (self.q, self.k, self.v))
            q, k = turned(q, cos, sin), turned(k, cos, sin)
            k, v = (item.repeat_interleave(heads // keys, 1) for item in (k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(mixed.transpose(1, 2).reshape(n, length, width))
            h = self.after(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    class Llama(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.blocks = nn.Embedding(_WORDS, width), nn.ModuleList([Block() for _ in range(4)])
            self.norm, self.out = Norm(width), nn.Linear(width, _WORDS, bias=False)
            angles = torch.arange(64)[:, None] / 10000 ** (torch.arange(size // 2) / (size // 2))
            self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
            self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

        def forward(self, words: Any) -> Any:
            x = self.words(words)
            for block in self.blocks:
                x = block(x, self.cos, self.sin)
            return self.out(self.norm(x))

    return _of_words(torch, Llama(), (4, 64))


def t5(torch: Any) -> Job:
    """Two layers of an encoder and two of a decoder, width 128, relative positions, ReLU, 4 × 48 words (https://arxiv.org/abs/1910.10683)."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, length = 128, 4, 48
    Norm = _Parts(torch).Norm

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

        def forward(self, x: Any, other: Any, bias: Any) -> Any:
            n = x.shape[0]
            projected = self.q(x), self.k(other), self.v(other)
            q, k, v = (item.view(n, -1, heads, width // heads).transpose(1, 2) for item in projected)
            scores = torch.matmul(q, k.transpose(3, 2))
            if bias is not None:
                scores = scores + bias
            weights = F.dropout(F.softmax(scores.float(), dim=-1).type_as(scores), 0.1, self.training)
            return self.o(torch.matmul(weights, v).transpose(1, 2).reshape(n, -1, width))

    class Layer(nn.Module):
        def __init__(self, decodes: bool) -> None:
            super().__init__()
            self.own, self.other = Attention(), Attention() if decodes else None
            self.wi, self.wo = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
            self.norms = nn.ModuleList([Norm(width) for _ in range(3 if decodes else 2)])

        def forward(self, x: Any, encoded: Any, bias: Any) -> Any:
            h = self.norms[0](x)
            x = x + self.own(h, h, bias)
            if self.other is not None:
                x = x + self.other(self.norms[1](x), encoded, None)
            return x + self.wo(F.relu(self.wi(self.norms[-1](x))))

    class T5(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.near, self.causal = nn.Embedding(_WORDS, width), nn.Embedding(32, heads), nn.Embedding(32, heads)
            self.encoder = nn.ModuleList([Layer(False) for _ in range(2)])
            self.decoder = nn.ModuleList([Layer(True) for _ in range(2)])
            self.norms = nn.ModuleList([Norm(width), Norm(width)])

        def bias(self, table: Any, decodes: bool) -> Any:
            places = torch.arange(length)
            away = (places[None, :] - places[:, None]).clamp(-16, 15) + 16
            bias = table(away).permute(2, 0, 1).unsqueeze(0)
            if decodes:
                bias = bias + torch.full((length, length), -1e9).triu(1)
            return bias

        def forward(self, words: Any) -> Any:
            x, bias = self.words(words), self.bias(self.near, False)
            for layer in self.encoder:
                x = layer(x, None, bias)
            encoded = self.norms[0](x)
            x, bias = self.words(words.roll(1, 1)), self.bias(self.causal, True)
            for layer in self.decoder:
                x = layer(x, encoded, bias)
            return F.linear(self.norms[1](x) / math.sqrt(width), self.words.weight)

    return _of_words(torch, T5(), (4, length))


def vit(torch: Any) -> Job:
    """Four layers of width 128 on patches of 8 × 8 of 64 × 64 with a class token, batch 16 (https://arxiv.org/abs/2010.11929)."""
    nn, F = torch.nn, torch.nn.functional
    width, heads = 128, 4

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.after, self.up, self.down = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(n, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, width))
            return x + self.down(F.gelu(self.up(self.after(x))))

    class Vit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 8, 8)
            self.token, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, 65, width) * 0.02)
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(4)]), nn.LayerNorm(width, eps=1e-6)
            self.out = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
            return self.out(self.norm(self.blocks(x))[:, 0])

    return _of_images(torch, Vit(), 16, 64)


def _of_convolution(torch: Any, i: int, o: int, kernel: int, stride: int = 1, groups: int = 1, act: Any = None) -> Any:
    nn = torch.nn
    layers = [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act is not None else []))


def mobilenetv2(torch: Any) -> Job:
    """Inverted residuals of 16 to 96 channels with ReLU6 on 64 × 64, batch 8 (https://arxiv.org/abs/1801.04381)."""
    nn = torch.nn

    class Inverted(nn.Module):
        def __init__(self, i: int, o: int, stride: int, wider: int) -> None:
            super().__init__()
            inner, self.adds = i * wider, stride == 1 and i == o
            expanded = [_of_convolution(torch, i, inner, 1, act=nn.ReLU6)] if wider != 1 else []
            self.layers = nn.Sequential(
                *expanded, _of_convolution(torch, inner, inner, 3, stride, inner, nn.ReLU6), _of_convolution(torch, inner, o, 1)
            )

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.adds else self.layers(x)

    rows = ((16, 16, 1, 1), (16, 24, 2, 6), (24, 24, 1, 6), (24, 32, 2, 6), (32, 32, 1, 6), (32, 64, 2, 6), (64, 64, 1, 6), (64, 96, 1, 6))
    model = nn.Sequential(
        _of_convolution(torch, 3, 16, 3, 2, act=nn.ReLU6), *[Inverted(*row) for row in rows],
        _of_convolution(torch, 96, 320, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(320, 10),
    )  # fmt: skip
    return _of_images(torch, model, 8, 64)


def efficientnet(torch: Any) -> Job:
    """Inverted residuals with SiLU, squeeze and excitation on 64 × 64, batch 8 (https://arxiv.org/abs/1905.11946)."""
    nn = torch.nn

    class Excited(nn.Module):
        def __init__(self, channels: int, inner: int) -> None:
            super().__init__()
            self.pool, self.down, self.up = nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

        def forward(self, x: Any) -> Any:
            return x * self.up(nn.functional.silu(self.down(self.pool(x)))).sigmoid()

    class Block(nn.Module):
        def __init__(self, i: int, o: int, kernel: int, stride: int, wider: int) -> None:
            super().__init__()
            inner, self.adds = i * wider, stride == 1 and i == o
            expanded = [_of_convolution(torch, i, inner, 1, act=nn.SiLU)] if wider != 1 else []
            self.layers = nn.Sequential(
                *expanded, _of_convolution(torch, inner, inner, kernel, stride, inner, nn.SiLU), Excited(inner, max(1, i // 4)),
                _of_convolution(torch, inner, o, 1),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.adds else self.layers(x)

    rows = (
        (16, 16, 3, 1, 1), (16, 24, 3, 2, 6), (24, 24, 3, 1, 6), (24, 40, 5, 2, 6), (40, 40, 5, 1, 6), (40, 80, 3, 2, 6), (80, 80, 3, 1, 6),
    )  # fmt: skip
    model = nn.Sequential(
        _of_convolution(torch, 3, 16, 3, 2, act=nn.SiLU), *[Block(*row) for row in rows],
        _of_convolution(torch, 80, 320, 1, act=nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(320, 10),
    )  # fmt: skip
    return _of_images(torch, model, 8, 64)


def convnext(torch: Any) -> Job:
    """Three stages of 32 to 128 channels of 7 × 7 depthwise convolutions, layer norms and GELU on 64 × 64, batch 8."""
    nn, F = torch.nn, torch.nn.functional

    class Norm(nn.LayerNorm):
        def forward(self, x: Any) -> Any:
            return F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps).permute(0, 3, 1, 2)

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.scale = nn.Parameter(torch.full((width,), 1e-6))

        def forward(self, x: Any) -> Any:
            h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            return x + (self.scale * self.down(F.gelu(self.up(h)))).permute(0, 3, 1, 2)

    layers = [nn.Conv2d(3, 32, 4, 4), Norm(32, eps=1e-6)]
    for i, o in ((32, 64), (64, 128)):
        layers += [Block(i), Block(i), Norm(i, eps=1e-6), nn.Conv2d(i, o, 2, 2)]
    model = nn.Sequential(*layers, Block(128), Block(128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(128), nn.Linear(128, 10))
    return _of_images(torch, model, 8, 64)


def gru_cells(torch: Any) -> Job:
    """A GRUCell of 64 that is called for each of 20 words of 16 sentences."""
    nn = torch.nn

    class Cells(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.cell, self.out = nn.Embedding(_WORDS, 64), nn.GRUCell(64, 64), nn.Linear(64, _WORDS)

        def forward(self, words: Any) -> Any:
            x, state, states = self.words(words), torch.zeros(words.shape[0], 64), []
            for place in range(words.shape[1]):
                state = self.cell(x[:, place], state)
                states.append(state)
            return self.out(torch.stack(states, 1))

    return _of_words(torch, Cells(), (16, 20))


MORE = {
    "bert": bert, "gpt2": gpt2, "llama": llama, "t5": t5, "vit": vit, "mobilenetv2": mobilenetv2, "efficientnet": efficientnet,
    "convnext": convnext, "gru cells": gru_cells,
}  # fmt: skip
