"""Bytes that views, writes and steps of optimizers send to a GPU: ``python -m tests.cuda python -m tests.cuda.sent``.

Each call runs twice; the second may send shapes and numbers, and nothing of the size of a tensor (256 KB).
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import mstorch as torch

D, FEW = "cuda", 4096


def _counter() -> Callable[[], int]:
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "libcudart.so.11" in line)
    sent = ctypes.CDLL(path).emulated_cuda_sent
    sent.restype = ctypes.c_size_t
    return sent  # type: ignore[no-any-return]


def _step(name: str, **options: Any) -> Callable[[], None]:
    layer = torch.nn.Linear(256, 256).to(D)
    optimizer = getattr(torch.optim, name)(layer.parameters(), **options)
    x = torch.rand(256, 256, device=D)

    def step() -> None:
        layer(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls by name."""
    x, y, z = (torch.rand(256, 256, device=D) for _ in range(3))
    return {
        "t": lambda: x.t() + y, "rows": lambda: x[1:3] * 2, "columns": lambda: x[:, ::2].sum(), "expand": lambda: x[:1].expand(256, 256) + y,
        "permute": lambda: x.view(16, 16, 256).permute(2, 0, 1).contiguous(), "half": lambda: x.half().t() + 1, "int": lambda: x.long().t() + 1,
        "bool": lambda: (x > 0).t() & (y > 0), "complex": lambda: torch.complex(x, y).t() * 2, "double": lambda: x.double()[::2] * 2,
        "a row": lambda: z.__setitem__(0, 1.0), "a row of a tensor": lambda: z.__setitem__(0, y[0]),
        "columns of a tensor": lambda: z.__setitem__((slice(None), slice(None, None, 2)), y[:, ::2]), "add to a column": lambda: z[:, 3].add_(1),
        "fill": lambda: z.fill_(2), "zero": lambda: z.zero_(), "copy": lambda: z.copy_(y), "add": lambda: z.add_(y),
        "copy transposed": lambda: z.t().copy_(y), "full": lambda: torch.full((256, 256), 3.0, device=D),
        "zeros": lambda: torch.zeros(256, 256, device=D), "masked_fill": lambda: z.masked_fill_(y > 0, 1.0),
        "diagonal": lambda: z.diagonal().add_(1), "SGD": _step("SGD", lr=0.1), "momentum": _step("SGD", lr=0.1, momentum=0.9),
        "Adam": _step("Adam"), "AdamW": _step("AdamW"),
    }  # fmt: skip


def main() -> None:
    """Print what each call sends the second time."""
    sent, much = _counter(), 0
    for name, call in calls().items():
        counts = []
        for _ in range(2):
            torch.cuda.synchronize()
            sent()
            call()
            torch.cuda.synchronize()
            counts.append(sent())
        much += counts[1] > FEW
        print(f"{name}: {counts[0]} bytes, then {counts[1]}")
    print(f"{much} send too much")


if __name__ == "__main__":
    main()
