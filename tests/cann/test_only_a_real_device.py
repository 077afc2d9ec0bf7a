"""Branches that only a real device takes: binding, streams and events, random numbers, windows, where writes to windows are lost."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mstorch as torch
from mstorch._src.backend import device_memory, runtime
from mstorch._src.backend.raw import NAME_OF
from tests.cann.plugin import on_plugin

D = torch.distributions


@on_plugin(EMULATED_CANN_DEVICES=8, EMULATED_CANN_MEMORY_MB=1024)
def test_a_process_binds_to_the_device_that_it_names() -> None:
    assert (runtime.HOST_TARGET, torch.npu.device_count(), torch.npu.is_initialized()) == ("Ascend", 8, False)
    torch.npu.set_device(3)
    assert str(torch.ones(2, device="npu").device) == "npu:3" and torch.npu.current_device() == 3
    assert torch.npu.get_device_name().startswith("Ascend910B")
    free, whole = torch.npu.mem_get_info()
    assert 0 < free <= whole == 1 << 30


@on_plugin
def test_streams_and_events() -> None:
    before, side = torch.npu.current_stream(), torch.npu.Stream()
    first, last = (torch.npu.Event(enable_timing=True) for _ in range(2))
    first.record()
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
        x = torch.ones(2, device="npu").mul_(2)
    last.record()
    side.wait_event(first)
    before.wait_stream(side)
    last.synchronize()
    torch.npu.synchronize()
    assert torch.npu.current_stream() == before and first.elapsed_time(last) >= 0 and first.query() and side.query() and x.tolist() == [2, 2]


def _kept_weights(p: float) -> Any:
    """Return attention's weights of 64 keys that are alike, times 64, after dropout."""
    alike = torch.zeros(1, 2, 64, 64, device="npu")
    return torch.nn.functional.scaled_dot_product_attention(alike, alike, 64 * torch.eye(64, device="npu").expand(1, 2, 64, 64), dropout_p=p)


def _full(value: float) -> Any:
    return torch.full((4000,), float(value), device="npu")


DRAWS: dict[str, tuple[Callable[[], Any], float, float]] = {  # the mean and the standard deviation
    "rand": (lambda: torch.rand(4000, device="npu"), 0.5, 0.289), "randn": (lambda: torch.randn(4000, device="npu"), 0, 1),
    "randint": (lambda: torch.randint(2, 6, (4000,), device="npu").float(), 3.5, 1.118), "rand_like": (lambda: torch.rand_like(_full(1)), 0.5, 0.289),
    "normal": (lambda: torch.normal(2.0, 3.0, (4000,), device="npu"), 2, 3), "normal of tensors": (lambda: torch.normal(_full(2.0), 3.0), 2, 3),
    "uniform_": (lambda: _full(0).uniform_(-1, 3), 1, 1.155), "normal_ of a view": (lambda: torch.empty(40, 200, device="npu").t()[:100].normal_(1, 2), 1, 2),
    "bernoulli_": (lambda: _full(0).bernoulli_(0.25), 0.25, 0.433), "bernoulli": (lambda: _full(0.25).bernoulli(), 0.25, 0.433),
    "exponential_": (lambda: _full(0).exponential_(2), 0.5, 0.5), "geometric_": (lambda: _full(0).geometric_(0.5), 2, 1.414),
    "log_normal_": (lambda: _full(0).log_normal_(0, 0.5), 1.133, 0.604), "random_": (lambda: _full(0).random_(0, 4), 1.5, 1.118),
    "multinomial": (lambda: torch.tensor([0.5, 0.0, 0.5], device="npu").multinomial(4000, True).float(), 1, 1),
    "dropout": (lambda: torch.dropout(_full(1), 0.5, True), 1, 1), "dropout of attention": (lambda: _kept_weights(0.2), 1, 0.5),
    "Normal": (lambda: D.Normal(_full(1), 2.0).rsample(), 1, 2), "Bernoulli": (lambda: D.Bernoulli(_full(0.25)).sample(), 0.25, 0.433),
    "Categorical": (lambda: D.Categorical(torch.ones(4000, 3, device="npu")).sample().float(), 1, 0.816),
    "out of rand": (lambda: torch.rand(4000, out=_full(0)), 0.5, 0.289), "out of randn": (lambda: torch.randn(4000, out=_full(0)), 0, 1),
    "out of randint": (lambda: torch.randint(2, 6, (4000,), out=_full(0)), 3.5, 1.118),
    "out of randperm": (lambda: torch.randperm(4000, out=_full(0)), 1999.5, 1154.8),
    "out of normal": (lambda: torch.normal(2.0, 3.0, (4000,), out=_full(0)), 2, 3),
    "a layer": (lambda: torch.nn.Linear(400, 100, device="npu").weight.detach(), 0, 0.0289),
}  # fmt: skip
READ = ("Normal", "Bernoulli", "Categorical", "multinomial")
"""Those that read their parameters, to check them."""


@on_plugin
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_the_devices(name: str) -> None:
    """They follow the device's seed, stay on the device, read nothing, and have the right moments."""
    from tests.cann import reads

    draw, mean, deviation = DRAWS[name]
    draw()
    torch.npu.manual_seed(5)
    with reads.counted() as lines:
        first = draw()
    assert first.is_npu and (not lines or name in READ), lines
    assert abs(first.mean().item() - mean) < 0.08 * max(deviation, 1) and abs(first.std().item() - deviation) < 0.08 * max(deviation, 0.1)
    torch.npu.manual_seed(5)
    assert torch.equal(first, draw())


@on_plugin
def test_states_of_generators() -> None:
    state = torch.npu.get_rng_state()
    again = torch.rand(3, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(again, torch.rand(3, device="npu"))
    own = torch.Generator("npu").manual_seed(5)
    torch.npu.manual_seed(5)
    assert torch.equal(torch.rand(3, device="npu", generator=own), torch.rand(3, device="npu"))


@on_plugin
def test_a_default_device_holds_for_random_functions_too() -> None:
    with torch.device("npu"):
        drawn = {"rand": torch.rand(2), "randperm": torch.randperm(3), "layer": torch.nn.Linear(2, 2).weight, "normal": torch.normal(0.0, 1.0, (2,))}
    assert [name for name, tensor in drawn.items() if not tensor.is_npu] == []


@on_plugin
def test_no_array_lies_under_a_tensor_of_the_device() -> None:
    array = torch.zeros(3).numpy()
    there = torch.from_numpy(array).npu()
    array[0] = 5
    assert there.tolist() == [0.0, 0.0, 0.0]


@on_plugin(alone=True)
def test_where_writes_to_windows_are_lost_the_base_is_replaced() -> None:
    window = device_memory.primitive_window

    def copied(base: Any, *place: Any) -> Any:
        shown = window(base, *place)
        return shown if device_memory._is_whole(base, *place) else device_memory._clone[NAME_OF[base.dtype]](shown)

    device_memory.primitive_window = copied
    device_memory._reaches_base.clear()
    x = torch.zeros(4, 5, device="npu")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x[1] = 2
        x[:, 2:4].mul_(3).add_(1)
        x[2].fill_(7)
        x[torch.tensor([0, 3]), 4] = torch.tensor([8.0, 9.0], device="npu")
        x.t()[0].zero_()
    assert not device_memory.writes_reach_base() and any("writes to views do not reach the memory" in str(item.message) for item in told)
    assert x.tolist() == [[0, 0, 1, 1, 8], [0, 2, 7, 7, 2], [0, 7, 7, 7, 7], [0, 0, 1, 1, 9]]
