"""Kernels, copies and reads of calls and of parts of programs, beside torch's: ``python -m tests.devices.programs torch|mstorch [name…]``.

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
    "bce of logits": _loss("binary_cross_entropy_with_logits", lambda x: (x > 0).float()), "soft margin": _loss("soft_margin_loss", lambda x: x.sign()),
    "multi margin": _loss("multi_margin_loss", _labels), "kl div": _loss("kl_div", lambda x: x.softmax(1), reduction="batchmean"),
    "nll": _loss("nll_loss", _labels), "cross entropy": _loss("cross_entropy", _labels),
    "cross entropy, smooth": _loss("cross_entropy", _labels, label_smoothing=0.1), "cross entropy, probabilities": _loss("cross_entropy", lambda x: x.softmax(1)),
    "poisson nll": _loss("poisson_nll_loss", lambda x: x.abs()), "hinge": _loss("hinge_embedding_loss", lambda x: x.sign()),
    "multilabel soft margin": _loss("multilabel_soft_margin_loss", lambda x: (x > 0).float()),
    "multilabel margin": _loss("multilabel_margin_loss", lambda x: (x * 0 - 1).long()),
}  # fmt: skip
PROGRAMS: dict[str, Callable[[str], Run]] = LOSSES


def by_torch(name: str) -> Counter[str]:
    """Return the operators that torch's dispatcher receives, without those that launch no kernel."""
    from torch.utils._python_dispatch import TorchDispatchMode

    counts: Counter[str] = Counter()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            word = function.name().partition("::")[2].partition(".")[0]
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
    from mstorch._backend import cost

    run = PROGRAMS[name]("npu")
    run()
    run()
    with cost.counted() as found:
        run()
    return found


def main(library: str, *names: str) -> None:
    """Print a line of JSON: of each program the kernels by name, and of mstorch's also casts, copies, bytes and reads."""
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
