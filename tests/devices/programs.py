"""Kernels, copies and reads of calls and of parts of programs, compared with torch's: ``python -m tests.devices.programs torch|mstorch
[name…]``.

torch's kernels are the calls of its dispatcher on the CPU, as in ``launched.py``; mstorch's are counted on the stand-in device
(MSTORCH_FAKE_DEVICE=Ascend). Each program is a function of a device that returns a function, whose third call is counted.
"""
from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from .flows import FLOWS
from .launched import NO_KERNEL, _torch

Run = Callable[[], Any]


def _both_ways(function: Callable[..., Any], *shapes: tuple[int, ...], frozen: int = 0) -> Callable[[str], Run]:
    """Return a program: a function of random tensors, of which the last ``frozen`` require no grad, and its gradients."""

    def program(place: str) -> Run:
        torch = _torch()
        torch.manual_seed(0)
        given = [torch.randn(*shape).to(place) for shape in shapes]
        leaves = [item.requires_grad_() for item in given[: len(given) - frozen]]
        with torch.no_grad():
            gradient = torch.ones_like(function(*given))

        def run() -> Any:
            for leaf in leaves:
                leaf.grad = None
            found = function(*given)
            found.backward(gradient)
            return [found, *(leaf.grad for leaf in leaves)]

        return run

    return program


def _loss(name: str, target: Callable[[Any], Any], **rest: Any) -> Callable[[str], Run]:
    def program(place: str) -> Run:
        torch = _torch()
        wanted = target(torch.linspace(-1.5, 1.5, 48).reshape(6, 8)).to(place)
        return _both_ways(lambda x: getattr(torch.nn.functional, name)(torch.sigmoid(x) if name == "binary_cross_entropy" else x, wanted, **rest), (6, 8))(place)

    return program


def _labels(x: Any) -> Any:
    return (x[:, 0].abs() * 10).long() % 8


LOSSES: dict[str, Callable[[str], Run]] = {
    "mse": _loss("mse_loss", lambda x: x), "l1": _loss("l1_loss", lambda x: x), "smooth l1": _loss("smooth_l1_loss", lambda x: x),
    "huber": _loss("huber_loss", lambda x: x, delta=0.5), "bce": _loss("binary_cross_entropy", lambda x: (x > 0).float()),
    "bce, weighted": lambda place: _loss("binary_cross_entropy", lambda x: (x > 0).float(), weight=_torch().linspace(0, 2, 8).to(place))(place),
    "bce of logits": _loss("binary_cross_entropy_with_logits", lambda x: (x > 0).float()), "soft margin": _loss("soft_margin_loss", lambda x: x.sign()),
    "multi margin": _loss("multi_margin_loss", _labels), "kl div": _loss("kl_div", lambda x: x.softmax(1), reduction="batchmean"),
    "nll": _loss("nll_loss", _labels), "cross entropy": _loss("cross_entropy", _labels),
    "cross entropy, smooth": _loss("cross_entropy", _labels, label_smoothing=0.1), "cross entropy, probabilities": _loss("cross_entropy", lambda x: x.softmax(1)),
    "poisson nll": _loss("poisson_nll_loss", lambda x: x.abs()), "hinge": _loss("hinge_embedding_loss", lambda x: x.sign()),
    "multilabel soft margin": _loss("multilabel_soft_margin_loss", lambda x: (x > 0).float()),
    "multilabel margin": _loss("multilabel_margin_loss", lambda x: (x * 0 - 1).long()),
}  # fmt: skip


def _layer(make: Callable[[Any], Any], *shape: int) -> Callable[[str], Run]:
    """Return a program: a layer of torch.nn, forward and backward."""

    def program(place: str) -> Run:
        torch = _torch()
        torch.manual_seed(0)
        layer, x = make(torch.nn).to(place), torch.randn(*shape).to(place).requires_grad_()
        g = torch.ones_like(layer(x).detach())

        def run() -> Any:
            layer.zero_grad()
            found = layer(x)
            found.backward(g)
            return found

        return run

    return program


def _f(name: str, *args: Any, **named: Any) -> Callable[..., Any]:
    return lambda *given: getattr(_torch().nn.functional, name)(*given, *args, **named)


LAYERS: dict[str, Callable[[str], Run]] = {
    "grid_sample": _both_ways(_f("grid_sample", align_corners=False), (2, 3, 8, 8), (2, 5, 5, 2)),
    "grid_sample, nearest": _both_ways(_f("grid_sample", "nearest", align_corners=False), (2, 3, 8, 8), (2, 5, 5, 2)),
    "grid_sample, bicubic": _both_ways(_f("grid_sample", "bicubic", align_corners=False), (2, 3, 8, 8), (2, 5, 5, 2)),
    "grid_sample, reflection": _both_ways(_f("grid_sample", padding_mode="reflection", align_corners=False), (2, 3, 8, 8), (2, 5, 5, 2)),
    "grid_sample, solid": _both_ways(_f("grid_sample", align_corners=True), (2, 3, 4, 4, 4), (2, 3, 3, 3, 3)),
    "affine_grid": _both_ways(_f("affine_grid", (2, 3, 8, 8), align_corners=False), (2, 2, 3)),
    "Conv1d": _layer(lambda nn: nn.Conv1d(4, 6, 3), 2, 4, 9), "Conv2d": _layer(lambda nn: nn.Conv2d(4, 6, 3), 2, 4, 9, 9), "Conv3d": _layer(lambda nn: nn.Conv3d(4, 6, 3), 2, 4, 5, 5, 5),
    "ConvTranspose2d": _layer(lambda nn: nn.ConvTranspose2d(4, 6, 3), 2, 4, 9, 9), "ConvTranspose1d": _layer(lambda nn: nn.ConvTranspose1d(4, 6, 3), 2, 4, 9),
    "Linear": _layer(lambda nn: nn.Linear(4, 6), 5, 4), "Linear of three": _layer(lambda nn: nn.Linear(4, 6), 2, 5, 4), "Bilinear": _both_ways(_f("bilinear"), (5, 4), (5, 3), (6, 4, 3), (6,)),
    "GLU": _both_ways(_f("glu"), (4, 6)), "softsign": _both_ways(_f("softsign"), (4, 6)), "PReLU": _layer(lambda nn: nn.PReLU(6), 4, 6), "logsigmoid": _both_ways(_f("logsigmoid"), (4, 6)),
    "PReLU of one": _layer(lambda nn: nn.PReLU(), 4, 6, 3, 3), "ELU": _both_ways(_f("elu"), (4, 6)), "CELU": _both_ways(_f("celu", 2.0), (4, 6)), "SELU": _both_ways(_f("selu"), (4, 6)), "tanhshrink": _both_ways(_f("tanhshrink"), (4, 6)),
    "softmin": _both_ways(_f("softmin", -1), (4, 6)), "log_softmax": _both_ways(_f("log_softmax", -1), (4, 6)), "softmax": _both_ways(_f("softmax", -1), (4, 6)),
    "attention": _both_ways(_f("scaled_dot_product_attention"), (2, 4, 6, 16), (2, 4, 6, 16), (2, 4, 6, 16)),
    "attention, mask": _both_ways(lambda q, k, v, m: _torch().nn.functional.scaled_dot_product_attention(q, k, v, m), (2, 4, 6, 16), (2, 4, 6, 16), (2, 4, 6, 16), (6, 6), frozen=1),
    "attention, odd heads": _both_ways(_f("scaled_dot_product_attention"), (2, 4, 6, 5), (2, 4, 6, 5), (2, 4, 6, 5)),
    "MultiheadAttention": _layer(lambda nn: _alone(nn.MultiheadAttention(16, 4, batch_first=True)), 2, 6, 16),
    "TransformerEncoderLayer": _layer(lambda nn: nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True), 2, 6, 16),
    "antialias": _both_ways(_f("interpolate", size=(5, 4), mode="bilinear", antialias=True), (2, 3, 8, 8)), "bilinear": _both_ways(_f("interpolate", size=(5, 4), mode="bilinear"), (2, 3, 8, 8)),
    "bicubic": _both_ways(_f("interpolate", size=(12, 12), mode="bicubic"), (2, 3, 8, 8)), "nearest": _both_ways(_f("interpolate", scale_factor=2), (2, 3, 8, 8)),
    "nearest-exact": _both_ways(_f("interpolate", scale_factor=2, mode="nearest-exact"), (2, 3, 8, 8)), "area": _both_ways(_f("interpolate", size=(5, 4), mode="area"), (2, 3, 8, 8)),
    "LayerNorm": _layer(lambda nn: nn.LayerNorm(6), 4, 6), "GroupNorm": _layer(lambda nn: nn.GroupNorm(2, 6), 4, 6, 5), "BatchNorm2d": _layer(lambda nn: nn.BatchNorm2d(6), 4, 6, 5, 5),
    "InstanceNorm2d": _layer(lambda nn: nn.InstanceNorm2d(6, affine=True), 4, 6, 5, 5), "RMSNorm": _layer(lambda nn: nn.RMSNorm(6), 4, 6), "LocalResponseNorm": _layer(lambda nn: nn.LocalResponseNorm(2), 4, 6, 5, 5),
    "MaxPool2d": _layer(lambda nn: nn.MaxPool2d(2), 4, 6, 6, 6), "AvgPool2d": _layer(lambda nn: nn.AvgPool2d(2), 4, 6, 6, 6), "AdaptiveAvgPool2d": _layer(lambda nn: nn.AdaptiveAvgPool2d(1), 4, 6, 6, 6),
    "AdaptiveMaxPool2d": _layer(lambda nn: nn.AdaptiveMaxPool2d(3), 4, 6, 6, 6), "LPPool2d": _layer(lambda nn: nn.LPPool2d(2, 2), 4, 6, 6, 6), "MaxPool1d": _layer(lambda nn: nn.MaxPool1d(2), 4, 6, 6),
    "pixel_shuffle": _both_ways(_f("pixel_shuffle", 2), (2, 8, 3, 3)), "unfold": _both_ways(_f("unfold", 2), (2, 3, 5, 5)), "fold": _both_ways(_f("fold", (5, 5), 2), (2, 12, 16)),
    "cosine_similarity": _both_ways(_f("cosine_similarity"), (4, 6), (4, 6)), "normalize": _both_ways(_f("normalize"), (4, 6)), "pairwise_distance": _both_ways(_f("pairwise_distance"), (4, 6), (4, 6)),
    "cdist": _both_ways(lambda a, b: _torch().cdist(a, b), (4, 6), (5, 6)), "einsum": _both_ways(lambda a, b: _torch().einsum("bij,bjk->bik", a, b), (2, 3, 4), (2, 4, 5)),
}  # fmt: skip


def _alone(attention: Any) -> Any:
    class Alone(_torch().nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.attention = attention

        def forward(self, x: Any) -> Any:
            return self.attention(x, x, x, need_weights=False)[0]

    return Alone()


PROGRAMS: dict[str, Callable[[str], Run]] = {**LOSSES, **LAYERS, **FLOWS}


def by_torch(name: str) -> Counter[str]:
    """Return the operators that torch's dispatcher receives, without those that launch no kernel."""
    from torch.utils._python_dispatch import TorchDispatchMode

    counts: Counter[str] = Counter()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            word = function.name().partition("::")[2].partition(".")[0]
            if word == "_local_scalar_dense":
                counts["reads"] += 1
            if word not in NO_KERNEL:
                counts[word] += 1
            return function(*args, **(kwargs or {}))

    run = PROGRAMS[name]("cpu")
    run()
    run()
    with Counting():
        run()
    return counts


def by_mstorch(name: str) -> Any:
    """Return the cost on the stand-in device."""
    from mstorch._src.backend import cost

    run = PROGRAMS[name]("npu")
    run()
    run()
    with cost.counted() as found:
        run()
    return found


def main(library: str, *names: str) -> None:
    """Print a line of JSON: the kernels of each program by name; for mstorch also casts, copies, bytes and reads."""
    if library == "show":
        importlib.import_module("mstorch").install()
        for name in names or PROGRAMS:
            print(name, by_mstorch(name).text(60))
        return
    if library == "mstorch":
        importlib.import_module("mstorch").install()
        print(json.dumps({name: by_mstorch(name).numbers() for name in names or PROGRAMS}))
    else:
        print(json.dumps({name: by_torch(name) for name in names or PROGRAMS}))


if __name__ == "__main__":
    main(*sys.argv[1:])
