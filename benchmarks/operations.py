"""The operations that ``run_all.py`` times, in a small and a middle size: a function and the shapes of its operands."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Operation = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]

WITHOUT_GRADIENT = ("argmax",)


def operations(torch: Any, side: int) -> dict[str, Operation]:
    """All operations on matrices of ``side`` rows and columns, and images in proportion."""
    F, square = torch.nn.functional, (side, side)
    batch, other = (8, side // 2, 64), (8, 64, side // 2)
    channels, pixels = (8, 12) if side < 64 else (32, 32)
    image, heads = (8, channels, pixels, pixels), (4, 4, side // 2, 32)
    return {
        "add": (lambda a, b: a + b, (square, square)),
        "add a number": (lambda a: a + 1.5, (square,)),
        "mul, broadcast": (lambda a, b: a * b, (square, (side, 1))),
        "div": (lambda a, b: a / (b * b + 1), (square, square)),
        "exp": (lambda a: a.exp(), (square,)),
        "tanh": (lambda a: a.tanh(), (square,)),
        "sigmoid": (lambda a: a.sigmoid(), (square,)),
        "relu": (lambda a: a.relu(), (square,)),
        "gelu": (lambda a: F.gelu(a), (square,)),
        "silu": (lambda a: F.silu(a), (square,)),
        "sqrt": (lambda a: (a * a + 1).sqrt(), (square,)),
        "square": (lambda a: a**2, (square,)),
        "clamp": (lambda a: a.clamp(-1, 1), (square,)),
        "where": (lambda a, b: torch.where(a > 0, a, b), (square, square)),
        "maximum": (lambda a, b: torch.maximum(a, b), (square, square)),
        "sum": (lambda a: a.sum(), (square,)),
        "sum of columns": (lambda a: a.sum(0), (square,)),
        "mean of rows": (lambda a: a.mean(-1, keepdim=True), (square,)),
        "var": (lambda a: a.var(-1), (square,)),
        "max of rows": (lambda a: a.max(1)[0], (square,)),
        "argmax": (lambda a: a.argmax(1), (square,)),
        "softmax": (lambda a: a.softmax(-1), (square,)),
        "log_softmax": (lambda a: a.log_softmax(-1), (square,)),
        "cumsum": (lambda a: a.cumsum(1), (square,)),
        "sort": (lambda a: a.sort(1)[0], (square,)),
        "topk": (lambda a: a.topk(5, 1)[0], (square,)),
        "matmul": (lambda a, b: a @ b, (square, square)),
        "bmm": (lambda a, b: torch.bmm(a, b), (batch, other)),
        "linear": (lambda a, w, b: F.linear(a, w, b), (square, square, (side,))),
        "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), (batch, other)),
        "cat": (lambda a, b: torch.cat([a, b], 1), (square, square)),
        "stack": (lambda a, b: torch.stack([a, b]), (square, square)),
        "permute, contiguous": (lambda a: a.permute(2, 0, 1).contiguous(), ((side, side // 4, 16),)),
        "sum of a slice": (lambda a: a[:, 2:-2].sum(), (square,)),
        "rows by index": (lambda a: a[torch.arange(0, a.shape[0], 2)], (square,)),
        "masked_fill": (lambda a: a.masked_fill(a > 0, 0.0), (square,)),
        "gather": (lambda a: a.gather(1, a.detach().argsort(1)), (square,)),
        "layer_norm": (lambda a, w, b: F.layer_norm(a, (a.shape[-1],), w, b), (square, (side,), (side,))),
        "mse_loss": (lambda a, b: F.mse_loss(a, b), (square, square)),
        "cross_entropy": (lambda a: F.cross_entropy(a, torch.arange(a.shape[0]) % a.shape[1]), (square,)),
        "embedding": (lambda w: F.embedding(torch.arange(512) % w.shape[0], w), ((side * 8, 64),)),
        "dropout": (lambda a: F.dropout(a, 0.5), (square,)),
        "conv2d": (lambda a, w, b: F.conv2d(a, w, b, padding=1), (image, (channels, channels, 3, 3), (channels,))),
        "conv2d 1×1": (lambda a, w: F.conv2d(a, w), (image, (channels, channels, 1, 1))),
        "conv2d, depthwise": (lambda a, w: F.conv2d(a, w, padding=1, groups=a.shape[1]), (image, (channels, 1, 3, 3))),
        "conv1d": (lambda a, w: F.conv1d(a, w, padding=1), ((8, channels, pixels * 8), (channels, channels, 3))),
        "conv_transpose2d": (lambda a, w: F.conv_transpose2d(a, w, stride=2), ((4, *image[1:]), (channels, channels, 2, 2))),
        "max_pool2d": (lambda a: F.max_pool2d(a, 2), (image,)),
        "avg_pool2d": (lambda a: F.avg_pool2d(a, 2), (image,)),
        "adaptive_avg_pool2d": (lambda a: F.adaptive_avg_pool2d(a, 1), (image,)),
        "batch_norm": (lambda a, w, b: F.batch_norm(a, None, None, w, b, True), (image, (channels,), (channels,))),
        "interpolate": (lambda a: F.interpolate(a, scale_factor=2, mode="bilinear", align_corners=False), ((2, *image[1:]),)),
        "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (heads, heads, heads)),
    }


SIDES = {"small": 16, "middle": 256}
