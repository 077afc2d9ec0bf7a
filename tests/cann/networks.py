"""Small networks of 30 kinds, each trained in five ways on MindSpore's Ascend plugin and on the CPU; losses and outputs agree.

    python -m tests.cann python -m tests.cann.networks [NAME …]
"""
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.utils.checkpoint import checkpoint

F = nn.functional


class Of(nn.Module):
    """A network of named layers and a function of them and of the inputs."""

    def __init__(self, forward: Callable[..., Any], **layers: Any) -> None:
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self._call = forward

    def forward(self, *inputs: Any) -> Any:
        return self._call(self, *inputs)


def numbers(*shape: int) -> Any:
    """Return numbers that each call makes alike."""
    return torch.sin(torch.arange(float(torch.Size(shape).numel())) * 1.7).reshape(shape)


def words(*shape: int, below: int = 20) -> Any:
    """Return indices."""
    return (torch.arange(torch.Size(shape).numel()) * 7 % below).reshape(shape)


def _attended(self: Any, x: Any, causal: bool = False) -> Any:
    q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
    return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2))


def _gpt(self: Any, x: Any) -> Any:
    x = self.embed(x) + self.place
    x = x + _attended(self, self.first(x), True)
    return self.head(x + self.down(F.gelu(self.up(self.second(x)))))


def _attention(**more: Any) -> dict[str, Any]:
    return {"qkv": nn.Linear(16, 48), "out": nn.Linear(16, 16), **more}


def _rotated(x: Any, turns: Any) -> Any:
    first, second = x.chunk(2, -1)
    return torch.cat([first * turns.cos() - second * turns.sin(), second * turns.cos() + first * turns.sin()], -1)


def _llama(self: Any, x: Any) -> Any:
    x = self.embed(x)
    q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
    turns = torch.arange(6.0, device=x.device)[:, None] / torch.tensor([1.0, 10.0, 100.0, 1000.0], device=x.device)
    x = x + self.out(F.scaled_dot_product_attention(_rotated(q, turns), _rotated(k, turns), v, is_causal=True).transpose(1, 2).flatten(2))
    y = self.second(x)
    return self.head(x + self.down(F.silu(self.gate(y)) * self.up(y)))


def _unet(self: Any, x: Any) -> Any:
    down = F.relu(self.one(x))
    deep = F.relu(self.two(F.max_pool2d(down, 2)))
    return self.three(torch.cat([down, self.rise(deep)], 1))


def _experts(self: Any, x: Any) -> Any:
    weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
    every = torch.stack([expert(x) for expert in self.experts], 1)
    return (every.gather(1, chosen[..., None].expand(-1, -1, 4)) * weights[..., None]).sum(1)


def _graph(self: Any, x: Any, edges: Any) -> Any:
    for layer in (self.one, self.two):
        x = F.relu(layer(torch.zeros_like(x).index_add(0, edges[1], x.index_select(0, edges[0])) + x))
    return self.head(x.mean(0, keepdim=True))


def _vae(self: Any, x: Any) -> Any:
    mean, log_variance = self.encoder(x).chunk(2, -1)
    return self.decoder(mean + numbers(4, 3).to(x.device) * (log_variance / 2).exp())


def _vit(self: Any, x: Any) -> Any:
    x = self.patch(x).flatten(2).transpose(1, 2)
    x = torch.cat([self.first_word.expand(len(x), -1, -1), x], 1)
    return self.head(self.encoder(x)[:, 0])


def _mixer(self: Any, x: Any) -> Any:
    x = x + self.of_places(self.first(x).transpose(1, 2)).transpose(1, 2)
    return self.head((x + self.of_channels(self.second(x))).mean(1))


def _excited(self: Any, x: Any) -> Any:
    x = F.relu(self.conv(x))
    weights = torch.sigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1).flatten(1)))))
    return self.head((x * weights[:, :, None, None]).mean((2, 3)))


def _dense(self: Any, x: Any) -> Any:
    for layer in (self.one, self.two):
        x = torch.cat([x, F.relu(layer(x))], 1)
    return self.head(x.amax((2, 3)))


def _seq2seq(self: Any, source: Any, target: Any) -> Any:
    states, last = self.encoder(self.embed(source))
    queries, _ = self.decoder(self.embed(target), last)
    context = (queries @ states.mT).softmax(-1) @ states
    return self.head(torch.cat([queries, context], -1))


def _recurrent(kind: str, **options: Any) -> tuple[Any, tuple[Any, ...]]:
    ways = 2 if options.get("bidirectional") else 1
    net = Of(
        lambda self, x: self.head(self.layers(self.embed(x))[0][:, -1]), embed=nn.Embedding(20, 8),
        layers=getattr(nn, kind)(8, 16, batch_first=True, **options), head=nn.Linear(16 * ways, 4),
    )  # fmt: skip
    return net, (words(4, 5),)


def _sequence(*layers: Any) -> Any:
    return nn.Sequential(*layers)


MADE: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "perceptron": lambda: (_sequence(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4)), (numbers(8, 6),)),
    "convolutions": lambda: (
        _sequence(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 4)), (numbers(4, 1, 8, 8),),
    ),
    "residual": lambda: (
        Of(
            lambda self, x: self.head(F.relu(x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))).mean((2, 3))),
            conv1=nn.Conv2d(4, 4, 3, padding=1, bias=False), norm1=nn.BatchNorm2d(4), conv2=nn.Conv2d(4, 4, 3, padding=1, bias=False),
            norm2=nn.BatchNorm2d(4), head=nn.Linear(4, 3),
        ), (numbers(4, 4, 6, 6),),
    ),
    "depthwise": lambda: (
        _sequence(
            nn.Conv2d(4, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8), nn.Hardswish(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3),
        ), (numbers(4, 4, 6, 6),),
    ),
    "dilated": lambda: (
        _sequence(nn.Conv2d(2, 4, 3, padding=2, dilation=2), nn.ELU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 3)), (numbers(4, 2, 6, 6),),
    ),
    "dense blocks": lambda: (
        Of(_dense, one=nn.Conv2d(2, 2, 3, padding=1), two=nn.Conv2d(4, 4, 3, padding=1), head=nn.Linear(8, 3)), (numbers(4, 2, 6, 6),),
    ),
    "branches": lambda: (
        Of(
            lambda self, x: self.head(torch.cat([self.one(x), self.three(x), F.max_pool2d(x, 3, 1, 1)], 1).mean((2, 3))),
            one=nn.Conv2d(3, 4, 1), three=nn.Conv2d(3, 4, 3, padding=1), head=nn.Linear(11, 3),
        ), (numbers(4, 3, 6, 6),),
    ),
    "U-Net": lambda: (
        Of(
            _unet, one=nn.Conv2d(1, 4, 3, padding=1), two=nn.Conv2d(4, 8, 3, padding=1), rise=nn.ConvTranspose2d(8, 4, 2, stride=2),
            three=nn.Conv2d(8, 2, 1),
        ), (numbers(2, 1, 8, 8),),
    ),
    "diffusion block": lambda: (
        Of(
            lambda self, x, t: x + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]))),
            norm1=nn.GroupNorm(2, 4), conv1=nn.Conv2d(4, 4, 3, padding=1), time=nn.Linear(6, 4), norm2=nn.GroupNorm(2, 4),
            conv2=nn.Conv2d(4, 4, 3, padding=1),
        ), (numbers(2, 4, 6, 6), numbers(2, 6)),
    ),
    "of sounds": lambda: (
        _sequence(nn.Conv1d(1, 4, 5, stride=2, bias=False), nn.BatchNorm1d(4), nn.GELU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(28, 3)), (numbers(4, 1, 32),),
    ),
    "of solids": lambda: (_sequence(nn.Conv3d(1, 4, 3), nn.ReLU(), nn.MaxPool3d(2), nn.Flatten(), nn.Linear(32, 3)), (numbers(2, 1, 6, 6, 6),)),
    "larger images": lambda: (_sequence(nn.Conv2d(1, 4, 3, padding=1), nn.PReLU(), nn.PixelShuffle(2)), (numbers(2, 1, 6, 6),)),
    "segments": lambda: (
        Of(
            lambda self, x: F.interpolate(self.head(F.relu(self.conv(x))), size=(8, 8), mode="bilinear", align_corners=False),
            conv=nn.Conv2d(1, 4, 3, stride=2, padding=1), head=nn.Conv2d(4, 2, 1),
        ), (numbers(2, 1, 8, 8),),
    ),
    "excited channels": lambda: (
        Of(_excited, conv=nn.Conv2d(2, 8, 3, padding=1), down=nn.Linear(8, 2), up=nn.Linear(2, 8), head=nn.Linear(8, 3)), (numbers(4, 2, 6, 6),),
    ),
    "styles": lambda: (
        _sequence(nn.ReflectionPad2d(1), nn.Conv2d(2, 4, 3, bias=False), nn.InstanceNorm2d(4, affine=True), nn.ReLU(), nn.Conv2d(4, 2, 1), nn.Tanh()),
        (numbers(2, 2, 6, 6),),
    ),
    "autoencoder": lambda: (_sequence(nn.Linear(8, 4), nn.Softplus(), nn.Linear(4, 8), nn.Sigmoid()), (numbers(6, 8),)),
    "variational": lambda: (Of(_vae, encoder=nn.Linear(8, 6), decoder=_sequence(nn.Linear(3, 8), nn.Tanh())), (numbers(4, 8),)),
    "discriminator": lambda: (
        _sequence(nn.Conv2d(1, 4, 4, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Flatten(), nn.utils.parametrizations.weight_norm(nn.Linear(64, 2))),
        (numbers(4, 1, 8, 8),),
    ),
    "RNN": lambda: _recurrent("RNN"),
    "LSTM": lambda: _recurrent("LSTM", num_layers=2),
    "GRU": lambda: _recurrent("GRU"),
    "LSTM in both directions": lambda: _recurrent("LSTM", bidirectional=True),
    "translation with attention": lambda: (
        Of(_seq2seq, embed=nn.Embedding(20, 8), encoder=nn.GRU(8, 8, batch_first=True), decoder=nn.GRU(8, 8, batch_first=True), head=nn.Linear(16, 20)),
        (words(2, 5), words(2, 4)),
    ),
    "encoder": lambda: (
        Of(
            lambda self, x: self.head(self.encoder(self.embed(x)).mean(1)), embed=nn.Embedding(20, 16), head=nn.Linear(16, 3),
            encoder=nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False),
        ), (words(3, 6),),
    ),
    "decoder": lambda: (
        Of(
            lambda self, x, memory: self.head(self.layer(self.embed(x), memory)), embed=nn.Embedding(20, 16), head=nn.Linear(16, 20),
            layer=nn.TransformerDecoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
        ), (words(2, 5), numbers(2, 3, 16)),
    ),
    "GPT": lambda: (
        Of(
            _gpt, embed=nn.Embedding(20, 16), place=nn.Parameter(numbers(6, 16) / 10), first=nn.LayerNorm(16), second=nn.LayerNorm(16), up=nn.Linear(16, 32),
            down=nn.Linear(32, 16), head=nn.Linear(16, 20, bias=False), **_attention(),
        ), (words(2, 6),),
    ),
    "Llama": lambda: (
        Of(
            _llama, embed=nn.Embedding(20, 16), first=nn.RMSNorm(16), second=nn.RMSNorm(16), gate=nn.Linear(16, 32, bias=False),
            up=nn.Linear(16, 32, bias=False), down=nn.Linear(32, 16, bias=False), head=nn.Linear(16, 20, bias=False), **_attention(),
        ), (words(2, 6),),
    ),
    "ViT": lambda: (
        Of(
            _vit, patch=nn.Conv2d(1, 16, 4, stride=4), first_word=nn.Parameter(numbers(1, 1, 16)), head=nn.Linear(16, 3),
            encoder=nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True),
        ), (numbers(3, 1, 8, 8),),
    ),
    "mixer": lambda: (
        Of(
            _mixer, first=nn.LayerNorm(8), of_places=_sequence(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)), second=nn.LayerNorm(8),
            of_channels=_sequence(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)), head=nn.Linear(8, 3),
        ), (numbers(3, 4, 8),),
    ),
    "graph": lambda: (
        Of(_graph, one=nn.Linear(6, 6), two=nn.Linear(6, 6), head=nn.Linear(6, 3)), (numbers(8, 6), words(2, 24, below=8)),
    ),
    "recommender": lambda: (
        Of(
            lambda self, wide, x: self.head(torch.cat([self.bag(wide), x], 1)).relu() * self.scale, bag=nn.EmbeddingBag(20, 8, mode="sum"),
            head=nn.Linear(12, 3), scale=nn.Parameter(torch.ones(3)),
        ), (words(4, 5), numbers(4, 4)),
    ),
    "experts": lambda: (Of(_experts, gate=nn.Linear(6, 4), experts=nn.ModuleList(nn.Linear(6, 4) for _ in range(4))), (numbers(8, 6),)),
    "two towers": lambda: (
        Of(lambda self, a, b: F.cosine_similarity(self.net(a), self.net(b)), net=_sequence(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))),
        (numbers(8, 6), numbers(8, 6).flip(0)),
    ),
}  # fmt: skip

WAYS = ("float32", "autocast", "scaled", "checkpointed", "evaluation")
CLOSE = {"autocast": (5e-2, 3e-2), "scaled": (2e-2, 1e-2)}


def run(name: str, way: str, place: str) -> list[Any]:
    """Return the losses of four steps and the parameters' first numbers afterwards; or the output of an evaluation."""
    torch.manual_seed(0)
    model, inputs = MADE[name]()
    model, inputs = model.to(place), tuple(item.to(place) for item in inputs)
    if way == "evaluation":
        model.train()
        with torch.no_grad():
            model(*inputs)  # running statistics
            return [model.eval()(*inputs).cpu()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    kind = {"autocast": torch.bfloat16, "scaled": torch.float16}.get(way)
    scaler = torch.amp.GradScaler(place, init_scale=256.0, enabled=way == "scaled")
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast(place, dtype=kind or torch.bfloat16, enabled=kind is not None):
            out = checkpoint(model, *inputs, use_reentrant=False) if way == "checkpointed" else model(*inputs)
            loss = F.cross_entropy(out, torch.arange(len(out), device=place) % out.shape[1]) if out.dim() == 2 else F.smooth_l1_loss(
                out, numbers(*out.shape).to(place).to(out.dtype)
            )
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach().float().cpu())
    return losses if kind is not None else [*losses, *(parameter.detach().flatten()[:6].cpu() for parameter in model.parameters())]


def difference(name: str, way: str) -> str:
    """Return how the device's run differs from the CPU's; "" if it does not."""
    wanted, got = run(name, way, "cpu"), run(name, way, "npu")
    for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{number}: {other.dtype}{list(other.shape)} for {one.dtype}{list(one.shape)}"
        if not torch.allclose(other, one, *CLOSE.get(way, (1e-3, 2e-4))):
            return f"{number}: {other.flatten()[:4].tolist()} for {one.flatten()[:4].tolist()}"
    moved = way == "evaluation" or wanted[0].item() != wanted[3].item()
    return "" if moved else "the loss does not move"


def main(names: list[str]) -> int:
    """Print what differs, and how many runs were right."""
    right = tried = 0
    began = time.monotonic()
    for name in names or MADE:
        for way in WAYS:
            tried += 1
            try:
                told = difference(name, way)
            except Exception as error:  # noqa: BLE001 - whatever is raised is shown
                told = f"{type(error).__name__}: {error}"
            right += not told
            if told:
                print(f"{name}, {way}: {told[:400]}", flush=True)
    print(f"{right} of {tried} right, {len(names or MADE)} networks, {time.monotonic() - began:.0f} s")
    return int(right != tried)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
