"""Views, writes, factories and sharing on the stand-in device; prints what is wrong."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost, device_memory, fake

Counted = tuple[int, int]


def asked(run: Callable[[], Any]) -> tuple[int, int, int]:
    """Return the numbers of kernels, of bytes sent to the device, and of reads."""
    with cost.counted() as found:
        run()
    return sum(found.kernels.values()), sum(found.copied.values()), sum(found.reads.values())


def views() -> list[str]:
    """Check that a view launches nothing and shares its base's memory."""
    x = torch.zeros(4, 6, 8, device="npu")
    made: dict[str, Callable[[], Any]] = {
        "view": lambda: x.view(24, 8), "transpose": lambda: x.transpose(0, 2), "part": lambda: x[1:3, ::2], "select": lambda: x[2],
        "new axis": lambda: x[..., None], "expand": lambda: x[:, :1].expand(4, 6, 8), "unfold": lambda: x.unfold(2, 3, 1),
        "diagonal": lambda: x.diagonal(), "as_strided": lambda: x.as_strided((3, 3), (1, 2), 5), "split": lambda: x.split(2),
        "unbind": lambda: x.unbind(), "movedim": lambda: x.movedim(0, -1), "detach": lambda: x.detach(), "data": lambda: x.data,
    }  # fmt: skip
    return [f"{name}: {asked(run)}" for name, run in made.items() if asked(run) != (0, 0, 0)]


def writes() -> list[str]:
    """Check that a write changes only its slice, and that every tensor that shares the memory sees it."""
    x = torch.zeros(64, 100, device="npu")
    row = torch.ones(100, device="npu")
    x.mul_(2)  # the number is sent once
    programs: dict[str, tuple[Callable[[], Any], int, int]] = {  # kernels, bytes written
        "fill": (lambda: x[3].fill_(2), 1, 400), "zero": (lambda: x[:, 5].zero_(), 1, 256), "number": (lambda: x.__setitem__(4, 1.5), 1, 400),
        "copy": (lambda: x[7].copy_(row), 1, 400), "assigned": (lambda: x.__setitem__(8, row), 1, 400),
        "added": (lambda: x[9].add_(row), 2, 400), "whole": (lambda: x.mul_(2), 1, 0),
    }  # fmt: skip
    found = []
    for name, (run, kernels, written) in programs.items():
        before = fake.written["bytes"]
        told = asked(run)
        if told[0] > kernels or told[1] > 0 or told[2] or fake.written["bytes"] - before != written:
            found.append(f"{name}: {told}, {fake.written['bytes'] - before} bytes written")
    if x[7].tolist() != [2.0] * 100 or x[9].sum().item() != 200 or x.t()[5, 60].item() != 0:
        found.append("writes are not seen")
    return found


def factories() -> list[str]:
    """Check that the device fills new memory with a number."""
    like = torch.ones(3, 4, device="npu")
    made: dict[str, Callable[[], Any]] = {
        "zeros": lambda: torch.zeros(9, 9, device="npu"), "ones": lambda: torch.ones(9, device="npu", dtype=torch.bfloat16),
        "full": lambda: torch.full((9,), 2.5, device="npu"), "empty": lambda: torch.empty(9, device="npu"),
        "arange": lambda: torch.arange(900, device="npu"), "zeros_like": lambda: torch.zeros_like(like),
        "new_zeros": lambda: like.new_zeros(9), "new_full": lambda: like.new_full((9,), 3), "full_like": lambda: torch.full_like(like, 7),
    }  # fmt: skip
    return [f"{name}: {asked(run)}" for name, run in made.items() if asked(run)[0] > 1 or asked(run)[1:] != (0, 0)]


def cache() -> list[str]:
    """Check that a cache of keys and values costs the same for each token."""
    keys = torch.zeros(2, 4, 1000, 16, device="npu")
    token = torch.ones(2, 4, 1, 16, device="npu")
    costs = []
    for t in (1, 500, 999):
        before = fake.written["bytes"]
        told = asked(lambda t=t: keys.__setitem__((slice(None), slice(None), slice(t, t + 1)), token))
        costs.append((told, fake.written["bytes"] - before))
    return [] if costs == [((1, 0, 0), token.numel() * 4)] * 3 else [f"cache: {costs}"]


def sharing() -> list[str]:
    """Check that gradients have their own memory, and that ``.data``, ``set_``, ``resize_`` and ``out=`` behave as on the host."""
    found = []
    a, b = (torch.ones(3, device="npu", requires_grad=True) for _ in range(2))
    (a.view(1, 3) + b).sum().backward()
    a.grad[0] = 5
    b.grad.zero_()
    if (a.grad.tolist(), b.grad.tolist()) != ([5.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
        found.append("gradients of two leaves share memory")
    base = torch.zeros(4, device="npu")
    grown = base[:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning that out= is resized
        torch.add(torch.ones(6, device="npu"), 1, out=base)
    if grown.tolist() != [2.0, 2.0] or base.untyped_storage().nbytes() != 24:
        found.append("out= that grows leaves its views behind")
    base.resize_(8)
    if base[:6].tolist() != [2.0] * 6:
        found.append("resize_ loses elements")
    other = torch.zeros(1, device="npu").set_(base.untyped_storage(), 1, (2, 2), (2, 1))
    other.data.fill_(9)
    if base.tolist()[:5] != [2.0, 9.0, 9.0, 9.0, 9.0]:
        found.append("set_ and .data do not share memory")
    words = torch.arange(4, device="npu").to(torch.complex64)
    torch.view_as_real(words)[:, 1] = 1
    if words.tolist() != [1j, 1 + 1j, 2 + 1j, 3 + 1j]:
        found.append("parts of complex numbers are not views")
    return found


if __name__ == "__main__":
    if not device_memory.stand_in:
        device_memory.writes_reach_base()  # which writes once to find out
    print(views() + writes() + factories() + cache() + sharing())
