"""Strided tensors, whose addresses are passed to native code: operators of torch's database, and calls on long tensors.

``python -m tests.windows`` goes through all operators; every fourth of them is asked here.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import windows
from tests.against_torch import both
from tests.known import SECTIONS, hold

pytestmark = pytest.mark.sweep

CHECKS = dict(list(windows.items().items())[::4])
REASONS = {name: reason for reason, names in SECTIONS["windows"].items() for name in names}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.filterwarnings("ignore")
def test_windows(name: str) -> None:
    hold(name, CHECKS[name], REASONS)


def _functional(name: str, *shapes: tuple[int, ...], **options: Any) -> tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]:
    return (lambda torch, *tensors: getattr(torch.nn.functional, name)(*tensors, **options)), shapes


# Long enough for the kernels that use addresses.
LONG = {
    "conv1d": _functional("conv1d", (2, 3, 400), (64, 3, 3), (64,)),
    "conv2d": _functional("conv2d", (2, 3, 40, 40), (64, 3, 3, 3), (64,)),
    "conv2d in groups": _functional("conv2d", (2, 4, 40, 40), (64, 2, 3, 3), (64,), groups=2),
    "conv3d": _functional("conv3d", (1, 3, 12, 12, 12), (64, 3, 3, 3, 3), (64,)),
    "conv_transpose2d": _functional("conv_transpose2d", (2, 8, 30, 30), (8, 16, 3, 3), (16,)),
    "linear": _functional("linear", (80, 70), (90, 70), (90,)),
    "layer_norm": (lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (300,), w, b), ((300, 300), (300,), (300,))),
    "group_norm": (lambda torch, x, w, b: torch.nn.functional.group_norm(x, 4, w, b), ((8, 32, 40), (32,), (32,))),
    "batch_norm": (lambda torch, x, m, v: torch.nn.functional.batch_norm(x, m, v.abs()), ((8, 32, 40), (32,), (32,))),
    "softmax": _functional("softmax", (400, 300), dim=-1),
    "log_softmax": _functional("log_softmax", (400, 300), dim=-1),
    "gelu": _functional("gelu", (500, 300)),
    "silu": _functional("silu", (500, 300)),
    "max_pool2d": _functional("max_pool2d", (4, 8, 64, 64), kernel_size=2),
    "attention": _functional("scaled_dot_product_attention", (2, 4, 64, 32), (2, 4, 64, 32), (2, 4, 64, 32)),
    "addmm": (lambda torch, x, a, b: torch.addmm(x, a, b), ((90,), (80, 70), (70, 90))),
    "bmm": (lambda torch, a, b: a @ b, ((4, 80, 70), (4, 70, 90))),
}  # fmt: skip


@pytest.mark.parametrize("make", windows.WINDOWS.values(), ids=list(windows.WINDOWS))
@pytest.mark.parametrize("name", LONG)
def test_long_calls(name: str, make: Callable[[Any, Any], Any]) -> None:
    call, shapes = LONG[name]
    draws = np.random.RandomState(0)
    given = [draws.randn(*shape).astype(np.float32) for shape in shapes]
    for place in range(len(shapes)):

        def body(torch: Any, place: int = place) -> Any:
            tensors = [torch.tensor(array) for array in given]
            tensors[place] = make(tensors[place], torch)
            leaves = [tensor.detach().requires_grad_(name != "batch_norm" or not number) for number, tensor in enumerate(tensors)]
            result = call(torch, *leaves)
            (result * result).sum().backward()
            return result, [leaf.grad for leaf in leaves]

        both(body, rtol=1e-3, atol=1e-3, strides=False)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("make", windows.WINDOWS.values(), ids=list(windows.WINDOWS))
def test_steps_of_windows(optimizer: str, make: Callable[[Any, Any], Any]) -> None:
    start = np.random.RandomState(0).randn(60, 50).astype(np.float32)

    def body(torch: Any) -> Any:
        leaf = make(torch.tensor(start), torch).requires_grad_()
        step = getattr(torch.optim, optimizer)([leaf], lr=0.1)
        for _ in range(3):
            step.zero_grad()
            (leaf * leaf.sin()).sum().backward()
            step.step()
        return leaf

    both(body, rtol=1e-4, atol=1e-4, strides=False)
