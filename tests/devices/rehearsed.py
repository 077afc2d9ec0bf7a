"""Branches for a real device: ``MSTORCH_FAKE_DEVICE=rehearsal python -m tests.devices.rehearsed [lost]`` prints what is wrong in them.

MindSpore itself then reports an Ascend device, one of eight (``mstorch/_src/backend/rehearsal.py``).
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost, device_memory, fake, rehearsal, rehearsed, runtime

D = torch.distributions


def _asked(name: str) -> int:
    return len([1 for asked, _ in rehearsal.calls if asked == name])


def devices() -> list[str]:
    """Return what is wrong with the binding to a device, and with the calls that bind."""
    found = []
    if (runtime.HOST_TARGET, torch.npu.device_count(), torch.npu.is_initialized()) != ("Ascend", 8, False) or _asked("set_device"):
        found.append("the device is in use before anything was asked of it")
    torch.npu.set_device(3)
    if str(torch.ones(2, device="npu").device) != "npu:3" or [value for name, value in rehearsal.calls if name == "set_device"] != [("Ascend", 3)]:
        found.append("another device was bound")
    if torch.npu.get_device_name() != "Ascend910B (rehearsed)" or torch.npu.mem_get_info() != (rehearsal.MEMORY // 2, rehearsal.MEMORY):
        found.append("what MindSpore tells of the device is lost")
    return found


def streams() -> list[str]:
    """Check that streams and events are MindSpore's."""
    before, side = torch.npu.current_stream(), torch.npu.Stream()
    first, last = (torch.npu.Event(enable_timing=True) for _ in range(2))
    first.record()
    with torch.npu.stream(side):
        inside = torch.npu.current_stream() == side
        torch.ones(2, device="npu").mul_(2)
    last.record()
    side.wait_event(first)
    before.wait_stream(side)
    last.synchronize()
    torch.npu.synchronize()
    told = {name for name, _ in rehearsal.calls}
    good = inside and torch.npu.current_stream() == before and first.elapsed_time(last) >= 0
    return [] if good and {"stream", "event.wait", "event.synchronize", "synchronize"} <= told else [f"streams: {inside}, {told}"]


def _kept_weights(p: float) -> Any:
    """Return attention's weights of 64 keys that are alike, times 64, after dropout."""
    alike = torch.zeros(1, 2, 64, 64, device="npu")
    return torch.nn.functional.scaled_dot_product_attention(alike, alike, 64 * torch.eye(64, device="npu").expand(1, 2, 64, 64), dropout_p=p)


DRAWS: dict[str, tuple[Callable[[], Any], float, float]] = {  # the mean and the standard deviation
    "rand": (lambda: torch.rand(4000, device="npu"), 0.5, 0.289), "randn": (lambda: torch.randn(4000, device="npu"), 0, 1),
    "randint": (lambda: torch.randint(2, 6, (4000,), device="npu").float(), 3.5, 1.118), "rand_like": (lambda: torch.rand_like(torch.ones(4000, device="npu")), 0.5, 0.289),
    "normal": (lambda: torch.normal(2.0, 3.0, (4000,), device="npu"), 2, 3), "normal of tensors": (lambda: torch.normal(torch.full((4000,), 2.0, device="npu"), 3.0), 2, 3),
    "uniform_": (lambda: torch.empty(4000, device="npu").uniform_(-1, 3), 1, 1.155), "normal_ of a view": (lambda: torch.empty(40, 200, device="npu").t()[:100].normal_(1, 2), 1, 2),
    "bernoulli_": (lambda: torch.empty(4000, device="npu").bernoulli_(0.25), 0.25, 0.433), "bernoulli": (lambda: torch.full((4000,), 0.25, device="npu").bernoulli(), 0.25, 0.433),
    "exponential_": (lambda: torch.empty(4000, device="npu").exponential_(2), 0.5, 0.5), "geometric_": (lambda: torch.empty(4000, device="npu").geometric_(0.5), 2, 1.414),
    "log_normal_": (lambda: torch.empty(4000, device="npu").log_normal_(0, 0.5), 1.133, 0.604), "random_": (lambda: torch.empty(4000, device="npu").random_(0, 4), 1.5, 1.118),
    "multinomial": (lambda: torch.tensor([0.5, 0.0, 0.5], device="npu").multinomial(4000, True).float(), 1, 1), "dropout": (lambda: torch.dropout(torch.ones(4000, device="npu"), 0.5, True), 1, 1),
    "dropout of attention": (lambda: _kept_weights(0.2), 1, 0.5),
    "Normal": (lambda: D.Normal(torch.ones(4000, device="npu"), 2.0).rsample(), 1, 2), "Bernoulli": (lambda: D.Bernoulli(torch.full((4000,), 0.25, device="npu")).sample(), 0.25, 0.433),
    "Categorical": (lambda: D.Categorical(torch.ones(4000, 3, device="npu")).sample().float(), 1, 0.816), "a layer": (lambda: torch.nn.Linear(400, 100, device="npu").weight.detach(), 0, 0.0289),
}  # fmt: skip


def draws() -> list[str]:
    """Check that random numbers come from the device's stream, are on the device, need no read, and have the expected moments."""
    wrong = []
    for name, (draw, mean, deviation) in DRAWS.items():
        draw()
        torch.npu.manual_seed(5)
        before, reads = len(rehearsal.calls), sum(fake.transfers.values())
        first = draw()
        if not any(asked in (*rehearsal.DRAWS, "bits") for asked, _ in rehearsal.calls[before:]) or not first.is_npu:
            wrong.append(f"{name} is not drawn by the device")
        if sum(fake.transfers.values()) > reads and name not in ("Normal", "Bernoulli", "Categorical"):  # they read their parameters
            wrong.append(f"{name} reads values")
        if abs(first.mean().item() - mean) > 0.08 * max(deviation, 1) or abs(first.std().item() - deviation) > 0.08 * max(deviation, 0.1):
            wrong.append(f"{name}: {first.mean().item()}, {first.std().item()}")
        torch.npu.manual_seed(5)
        if not torch.equal(first, draw()):
            wrong.append(f"{name} does not follow the seed of the device")
    state = torch.npu.get_rng_state()
    again = torch.rand(3, device="npu")
    torch.npu.set_rng_state(state)
    wrong += [] if torch.equal(again, torch.rand(3, device="npu")) else ["a state does not come back"]
    own = torch.Generator("npu").manual_seed(5)
    torch.npu.manual_seed(5)
    return wrong if torch.equal(torch.rand(3, device="npu", generator=own), torch.rand(3, device="npu")) else [*wrong, "a generator of its own"]


# A call, how many kernels it may launch besides the one that draws, and how many host arrays it may send.
LAUNCHES: dict[str, tuple[Callable[[], Any], int, int]] = {
    "rand": (lambda: torch.rand(40, device="npu"), 0, 0), "randn": (lambda: torch.randn(40, device="npu"), 0, 0),
    "uniform_": (lambda: torch.empty(4, 5, device="npu").uniform_(-0.5, 0.5), 3, 0), "exponential_": (lambda: torch.empty(40, device="npu").exponential_(), 5, 0),
    "one_hot": (lambda: torch.nn.functional.one_hot(torch.arange(4, device="npu"), 4), 3, 0),
    "positions of the host": (lambda: torch.zeros(4, 5, device="npu")[[1, 2]], 1, 1),
    "positions of the host, with a gradient": (lambda: torch.zeros(4, 5, device="npu", requires_grad=True)[:, [1, 2]], 1, 1),
}  # fmt: skip


def launches() -> list[str]:
    """Return the calls that launch more kernels, or send more arrays, than necessary."""
    wrong = []
    for name, (call, kernels, copies) in LAUNCHES.items():
        call()
        with cost.counted() as found:
            call()
        if sum(found.kernels.values()) > kernels or sum(found.copies.values()) > copies:
            wrong.append(f"{name}: {found.text()}")
    return wrong


def defaults() -> list[str]:
    """Check that a default device also applies to random functions."""
    with torch.device("npu"):
        made = {"rand": torch.rand(2), "randperm": torch.randperm(3), "layer": torch.nn.Linear(2, 2).weight, "normal": torch.normal(0.0, 1.0, (2,))}
    return [name for name, tensor in made.items() if not tensor.is_npu]


def arrays() -> list[str]:
    """Return what is wrong if an array is modified after it was sent to the device: the tensor must not change."""
    array = torch.zeros(3).numpy()
    there = torch.from_numpy(array).npu()
    array[0] = 5
    return [] if there.tolist() == [0.0, 0.0, 0.0] else ["an array lies under a device's tensor"]


def lost() -> list[str]:
    """Check a device on which writes to a part of a base are lost: the base is replaced, with a warning."""
    rehearsed.loses_writes.append(True)
    x = torch.zeros(4, 5, device="npu")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x[1] = 2
    x[:, 2:4].mul_(3).add_(1)
    x[2].fill_(7)
    x[torch.tensor([0, 3]), 4] = torch.tensor([8.0, 9.0], device="npu")
    x.t()[0].zero_()
    wanted = [[0, 0, 1, 1, 8], [0, 2, 7, 7, 2], [0, 7, 7, 7, 7], [0, 0, 1, 1, 9]]
    said = any("writes to views do not reach the memory" in str(item.message) for item in told)
    return [] if x.tolist() == wanted and said and not device_memory.writes_reach_base() else [f"lost writes: {x.tolist()}, {said}"]


if __name__ == "__main__":
    print(lost() if sys.argv[1:] == ["lost"] else devices() + streams() + draws() + launches() + defaults() + arrays())
