"""Common calls on the device compared with the host, forward and backward; writes through views; attention."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import mstorch as torch

from ..._src.core import device as devices
from . import Item

Program = Callable[[str], list[Any]]
F, nn = torch.nn.functional, torch.nn


def beside(program: Program, close: tuple[float, float] = (1e-3, 1e-4)) -> str:
    """Run a program on the CPU and on the current device, and describe the first difference of the results; "" if they agree."""
    here, there = program("cpu"), [item.detach().cpu() for item in program(str(devices.current()))]
    for place, (one, other) in enumerate(zip(here, there, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {place}: {other.dtype}{list(other.shape)} for {one.dtype}{list(one.shape)}"
        if not torch.allclose(one.detach().double(), other.double(), *close, equal_nan=True):
            return f"result {place} differs, by {float((one.double() - other.double()).abs().max()):.1g}"
    return ""


# Functions of x (4, 6, 8), which requires grad, and i (4, 6), indices below 6.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda x, i: x.view(24, 8), "transpose": lambda x, i: x.transpose(0, 2), "slice": lambda x, i: x[1:3, ::2],
    "select": lambda x, i: x[:, 2],
    "chunk": lambda x, i: x.chunk(2, 2)[1], "expand": lambda x, i: x[:, :1].expand(4, 6, 8),
    "cat": lambda x, i: torch.cat([x, x * 2], 1), "stack": lambda x, i: torch.stack([x, x]),
    "roll": lambda x, i: x.roll(2, 1), "flip": lambda x, i: x.flip(1), "pad": lambda x, i: F.pad(x, (1, 2)),
    "repeat": lambda x, i: x.repeat(2, 1, 1), "tril": lambda x, i: x.tril(),
    "unfold": lambda x, i: x.unfold(2, 3, 2), "add": lambda x, i: x + x[:1], "add, scaled": lambda x, i: x.add(x.flip(0), alpha=0.5),
    "mul": lambda x, i: x * x.flip(0),
    "div": lambda x, i: x / (x.abs() + 1), "pow": lambda x, i: x.abs() ** 1.5, "exp": lambda x, i: x.exp(),
    "log": lambda x, i: (x.abs() + 0.1).log(), "sqrt": lambda x, i: x.abs().sqrt(),
    "expm1": lambda x, i: (x * 1e-8).expm1() * 1e8, "log1p": lambda x, i: (x * 1e-8).log1p() * 1e8, "tanh": lambda x, i: x.tanh(),
    "sigmoid": lambda x, i: x.sigmoid(), "erf": lambda x, i: x.erf(),
    "relu": lambda x, i: x.relu(), "gelu": lambda x, i: F.gelu(x), "gelu, tanh": lambda x, i: F.gelu(x, approximate="tanh"),
    "silu": lambda x, i: F.silu(x[..., ::2]), "elu": lambda x, i: F.elu(x),
    "leaky_relu": lambda x, i: F.leaky_relu(x, 0.1), "softplus": lambda x, i: F.softplus(x), "mish": lambda x, i: F.mish(x),
    "hardswish": lambda x, i: F.hardswish(x), "clamp": lambda x, i: x.clamp(-0.5, 0.5),
    "where": lambda x, i: torch.where(x > 0, x, 0.1 * x), "masked_fill": lambda x, i: x.masked_fill(x > 1, 2.0),
    "maximum": lambda x, i: torch.maximum(x, x.flip(0)), "sum": lambda x, i: x.sum((0, 2)),
    "mean": lambda x, i: x.mean(1), "var": lambda x, i: x.var((0, 1)), "std": lambda x, i: x.std(2), "norm": lambda x, i: x.norm(dim=1),
    "max": lambda x, i: x.max(1)[0], "amin": lambda x, i: x.amin((0, 1)),
    "any": lambda x, i: (x > 1.5).any(1) * x[:, 0], "all": lambda x, i: (x > -9).all() * x, "cumsum": lambda x, i: x.cumsum(1),
    "prod": lambda x, i: x.prod(2), "logsumexp": lambda x, i: x.logsumexp(2),
    "softmax": lambda x, i: x.softmax(2), "log_softmax": lambda x, i: x.log_softmax(1), "sort": lambda x, i: x.sort(2)[0],
    "topk": lambda x, i: x.topk(3)[0], "median": lambda x, i: x.median(1)[0],
    "gather": lambda x, i: x[..., 0].gather(1, i), "index_select": lambda x, i: x.index_select(1, i[0]),
    "index": lambda x, i: x[:, i[0]], "index, pairs": lambda x, i: x[i[0] % 4, i[1]],
    "scatter_add": lambda x, i: torch.zeros_like(x[..., 0]).scatter_add(1, i, x[..., 1]),
    "index_add": lambda x, i: torch.zeros_like(x).index_add(1, i[0], x), "embedding": lambda x, i: F.embedding(i, x[0]),
    "matmul": lambda x, i: x @ x.mT, "matmul, transposed": lambda x, i: x.transpose(0, 1) @ x.transpose(0, 1).mT,
    "linear": lambda x, i: F.linear(x, x[0]), "einsum": lambda x, i: torch.einsum("bij,bkj->bik", x, x),
    "bmm": lambda x, i: torch.bmm(x, x.mT), "layer_norm": lambda x, i: F.layer_norm(x, (8,)),
    "group_norm": lambda x, i: F.group_norm(x, 3), "batch_norm": lambda x, i: F.batch_norm(x, None, None, training=True),
    "instance_norm": lambda x, i: F.instance_norm(x), "rms_norm": lambda x, i: F.rms_norm(x, (8,)),
    "conv1d": lambda x, i: F.conv1d(x, x[:3, :, :3], padding=1),
    "conv2d": lambda x, i: F.conv2d(x[None], x[None, :, :3, :3].transpose(0, 1), groups=4),
    "conv_transpose2d": lambda x, i: F.conv_transpose2d(x[None], x[:, None, :2, :2], stride=2, groups=4),
    "max_pool2d": lambda x, i: F.max_pool2d(x[None], 2), "avg_pool2d": lambda x, i: F.avg_pool2d(x[None], 3, 2, 1),
    "adaptive_avg_pool2d": lambda x, i: F.adaptive_avg_pool2d(x[None], 3),
    "interpolate": lambda x, i: F.interpolate(x[None], scale_factor=2, mode="bilinear"), "im2col": lambda x, i: F.unfold(x[None], 2),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:, 0], i[:, 0]),
    "cross_entropy, smooth": lambda x, i: F.cross_entropy(x[:, 0], i[:, 0], label_smoothing=0.1),
    "nll_loss": lambda x, i: F.nll_loss(x[0].log_softmax(1), i[0]),
    "mse_loss": lambda x, i: F.mse_loss(x, x.detach().flip(0)),
    "bce": lambda x, i: F.binary_cross_entropy(x.sigmoid(), (x.detach() > 0).float()),
    "bce, logits": lambda x, i: F.binary_cross_entropy_with_logits(x, (x.detach() > 0).float()),
    "smooth_l1_loss": lambda x, i: F.smooth_l1_loss(x, x.detach().flip(0)),
    "cosine_similarity": lambda x, i: F.cosine_similarity(x, x.flip(1), 2), "cdist": lambda x, i: torch.cdist(x, x.flip(1)),
    "complex": lambda x, i: torch.view_as_real(torch.complex(x, x)),
    "half": lambda x, i: x.half() * 2, "bfloat16": lambda x, i: x.bfloat16() * 2, "double": lambda x, i: x.double() * 2,
    "int": lambda x, i: x.int() * x, "fft": lambda x, i: torch.fft.rfft(x).abs(), "svd": lambda x, i: torch.linalg.svdvals(x),
}  # fmt: skip


def _call(function: Callable[[Any, Any], Any], place: str) -> list[Any]:
    torch.manual_seed(0)
    x, i = torch.randn(4, 6, 8), torch.randint(0, 6, (4, 6))
    leaf = x.to(place).requires_grad_()
    found = function(leaf, i.to(place))
    weight = torch.linspace(0.5, 1.5, found.numel()).reshape(found.shape).to(place)
    (found * weight.to(found.dtype)).sum().backward()
    return [found, leaf.grad]


def operations() -> list[Item]:
    """Return checks of frequently used operations, forward and backward."""
    close = {"half": (1e-2, 2e-2), "bfloat16": (1e-2, 2e-2)}
    return [(name, partial(beside, partial(_call, function), close.get(name, (1e-3, 1e-4)))) for name, function in CALLS.items()]


def _written(write: Callable[[Any, Any], Any], place: str) -> list[Any]:
    x = torch.arange(48.0).reshape(4, 12).to(place)
    views = [x[1:3], x[:, ::2], x.t(), x.view(-1)]
    write(x, x[2].clone())
    return [x, *views]


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda x, v: x[1].add_(1), "column": lambda x, v: x[:, 3].mul_(2), "steps": lambda x, v: x[:, 1::3].fill_(7),
    "zeros": lambda x, v: x[2:].zero_(), "transposed": lambda x, v: x.t()[2].copy_(v[:4]),
    "view of a view": lambda x, v: x[1:, ::2][0].sub_(v[::2]), "flat": lambda x, v: x.view(-1)[5:9].neg_(),
    "index": lambda x, v: x.__setitem__((slice(None), 2), 9.0), "mask": lambda x, v: x.masked_fill_(x > 20, -1.0),
    "copy": lambda x, v: x[0].copy_(v), "index_put": lambda x, v: x.__setitem__(torch.tensor([0, 3], device=x.device), v),
    "out": lambda x, v: torch.add(x[0], x[1], out=x[2]), "data": lambda x, v: x.data.mul_(3),
    "clamp": lambda x, v: x[:, :5].clamp_(3, 20),
}  # fmt: skip


def memory() -> list[Item]:
    """Return checks that writes through views change the base and its other views."""
    return [(name, partial(beside, partial(_written, write))) for name, write in WRITES.items()]


def _attended(kind: Any, options: dict[str, Any], place: str) -> list[Any]:
    torch.manual_seed(1)
    leaves = [torch.randn(2, 4, 32, 64).to(kind).to(place).requires_grad_() for _ in range(3)]
    given: Any = {name: value.to(place) if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    found: Any = F.scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], **given)
    found.float().square().sum().backward()
    return [found, *(leaf.grad for leaf in leaves)]


def attention() -> list[Item]:
    """Return checks of attention in three dtypes: plain, causal, with masks that hide some rows entirely, and with masks that are added:
    numbers for each query and key, each head, each sequence, or all of them."""
    hidden = torch.zeros(32, 32)
    hidden[5], hidden[7, :4] = float("-inf"), float("-inf")
    options: dict[str, dict[str, Any]] = {
        "plain": {}, "causal": {"is_causal": True}, "boolean mask": {"attn_mask": hidden == 0}, "float mask": {"attn_mask": hidden},
        "scale": {"scale": 0.5}, "padding": {"attn_mask": hidden[7].expand(2, 1, 1, 32)},
    }  # fmt: skip
    for shape in ((32, 32), (1, 4, 32, 32), (2, 1, 32, 32), (2, 4, 32, 32)):
        numbers = torch.linspace(-1, 1, math.prod(shape)).reshape(shape)
        options[f"added mask {shape}"] = {"attn_mask": numbers.flip(-1, -2) + hidden, "scale": 0.2}
    found: list[Item] = []
    for kind, close in ((torch.float32, (1e-3, 1e-3)), (torch.float16, (2e-2, 2e-2)), (torch.bfloat16, (1e-1, 1e-1))):
        for name, given in options.items():
            mask = given.get("attn_mask")
            own = given if mask is None or mask.dtype is torch.bool else {**given, "attn_mask": mask.to(kind)}
            found.append((f"{name}, {kind}", partial(beside, partial(_attended, kind, own), close)))
    return found
