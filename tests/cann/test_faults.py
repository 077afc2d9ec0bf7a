"""Errors of a device's runtime are raised as themselves, in MindSpore's own words, wherever they appear."""
from __future__ import annotations

import io
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

import mstorch as torch
from tests.cann.plugin import is_planted, on_plugin, plant

pytestmark = pytest.mark.slow
D = "npu"


_rows = itertools.count(1001).__next__  # no other test has so many


def _calls():
    x = torch.ones(_rows(), 4, device=D, requires_grad=True)  # a shape for which MindSpore has kept no executor: these are not prepared again
    layer = torch.nn.Linear(4, 4).to(D)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(x).sum().backward()
    compiled = torch.compile(lambda a: (a.exp() * 2).sum())
    y = torch.ones(_rows(), 4, device=D, requires_grad=True)
    compiled(y)

    def fill_and_wait():
        torch.zeros(3, device=D)
        torch.npu.synchronize()

    return {
        "item": ("Exp", lambda: x.exp().sum().item()),
        "backward": ("Mul", lambda: ((x.tanh() * x).sum().backward(), x.grad.cpu())),
        "step": ("Adam", lambda: (optimizer.step(), torch.npu.synchronize())),
        "layer": ("Addmm", lambda: (layer(torch.ones(_rows(), 4, device=D)), torch.npu.synchronize())),
        "synchronize": ("Sigmoid", lambda: (x.sigmoid(), torch.npu.synchronize())),
        "accelerator": ("Sigmoid", lambda: (x.sigmoid(), torch.accelerator.synchronize())),
        "stream": ("Sigmoid", lambda: (x.sigmoid(), torch.npu.current_stream().synchronize())),
        "event": ("Sigmoid", lambda: (x.sigmoid(), torch.npu.current_stream().record_event().synchronize())),
        "repr": ("Sigmoid", lambda: repr(x.sigmoid())),
        "cpu": ("Sigmoid", lambda: x.sigmoid().cpu()),
        "tolist": ("Sigmoid", lambda: x.sigmoid().tolist()),
        "save": ("Sigmoid", lambda: torch.save(x.sigmoid(), io.BytesIO())),
        "fill": ("InplaceZero", fill_and_wait),
        "captured": ("Exp", lambda: compiled(y).item()),
    }


NAMES = (
    "item", "backward", "step", "layer", "synchronize", "accelerator", "stream", "event", "repr", "cpu", "tolist", "save", "fill", "captured",
)  # fmt: skip


def _check(error: RuntimeError, how: str, operator: str) -> None:
    text = str(error)
    assert type(error) is torch.AcceleratorError, repr(error)
    assert "do not fit together" not in text
    assert ("EZ1001" if how == "prepare" else "EZ9999") in text and "aclnn" in text, text
    assert "may not be the one that failed" in text and "ASCEND_LAUNCH_BLOCKING=1" in text


@pytest.mark.parametrize("how", ["prepare", "launch"])
@pytest.mark.parametrize("name", NAMES)
@on_plugin
def test_failed_kernels_are_raised_as_themselves(name, how):
    if (name, how) == ("captured", "prepare"):
        return  # a graph's kernels are prepared when it is captured (test_captures.py)
    operator, call = _calls()[name]
    torch.npu.synchronize()
    plant(f"{how} {operator}")
    try:
        call()
    except RuntimeError as error:
        _check(error, how, operator)
    else:
        raise AssertionError("nothing was raised")
    finally:
        assert not is_planted()
    assert (torch.ones(3, device=D) + 1).tolist() == [2, 2, 2]  # the next call is innocent


@pytest.mark.parametrize("name", NAMES)
@on_plugin(alone=True)
def test_failures_that_a_wait_finds_are_raised_by_it(name):
    operator, call = _calls()[name]
    torch.npu.synchronize()
    plant(f"late {operator}")
    try:
        call()
    except RuntimeError as error:
        _check(error, "late", operator)
    else:
        raise AssertionError("nothing was raised")


def _captured():
    x = torch.ones(_rows(), 4, device=D, requires_grad=True)
    layer = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sigmoid()).to(D), fullgraph=True)
    function = torch.compile(lambda a: (a.exp() * 2).tanh().sum(), fullgraph=True)
    layer(x).sum().backward()
    function(x).backward()
    return {
        "function": ("Exp", lambda: function(x)),
        "layer": ("Addmm", lambda: layer(x)),
        "activation of a layer": ("Sigmoid", lambda: layer(x)),
        "gradient of a function": ("Mul", lambda: function(x).backward()),
        "gradient of a layer": ("SigmoidBackward", lambda: layer(x).sum().backward()),
    }


@pytest.mark.parametrize("how", ["launch", "late"])
@pytest.mark.parametrize("name", ["function", "layer", "activation of a layer", "gradient of a function", "gradient of a layer"])
@on_plugin(alone=True)
def test_failed_kernels_of_graphs_are_raised_as_themselves(name, how):
    operator, call = _captured()[name]
    torch.npu.synchronize()
    plant(f"{how} {operator}")
    try:
        call()
        torch.npu.synchronize()
    except RuntimeError as error:
        _check(error, how, operator)
    else:
        raise AssertionError("nothing was raised")
    finally:
        assert not is_planted()
    if how == "launch":
        assert (torch.ones(3, device=D) + 1).tolist() == [2, 2, 2]


@on_plugin(ASCEND_LAUNCH_BLOCKING=1)
def test_calls_that_block_raise_their_own_errors():
    x = torch.ones(3, device=D)
    plant("launch Exp")
    try:
        x.exp()
    except torch.AcceleratorError as error:
        assert "may not be the one that failed" not in str(error)
    else:
        raise AssertionError("nothing was raised")


@on_plugin(ASCEND_LAUNCH_BLOCKING=1)
def test_threads_whose_calls_block_compute_what_one_computes():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).to(D)
    inputs = [torch.randn(5, 3, device=D) for _ in range(4)]

    def gradient(x):
        leaf = x.clone().requires_grad_()
        layer(leaf).pow(2).sum().backward(inputs=[leaf])
        return leaf.grad.tolist()

    wanted = [gradient(x) for x in inputs]
    wrong = []

    def work(number):
        for _ in range(20):
            if gradient(inputs[number]) != wanted[number]:
                wrong.append(number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert not wrong


def _raised(call):
    try:
        call()
    except RuntimeError as error:
        return error
    raise AssertionError("nothing was raised")


@on_plugin
def test_memory_that_does_not_suffice():
    error = _raised(lambda: torch.ones(2**36, device=D))
    assert type(error) is torch.OutOfMemoryError and str(error).startswith("NPU out of memory. Tried to allocate 256.00 GiB")
    assert torch.ones(3, device=D).sum().item() == 3
    kept = []
    error = _raised(lambda: [kept.append(torch.ones(2**28, device=D)) for _ in range(40)])
    assert type(error) is torch.OutOfMemoryError and str(error).startswith("NPU out of memory.") and len(kept) < 20
    kept.clear()
    assert torch.ones(3, device=D).sum().item() == 3


@on_plugin
def test_sizes_beyond_63_bits_are_refused_before_a_kernel_is_launched():
    one, index = torch.ones(1, device=D), torch.zeros(1, dtype=torch.int64, device=D)
    calls = [
        lambda: torch.rand(2**62, device=D), lambda: torch.randn(2**62, device=D), lambda: torch.randint(3, (2**62,), device=D),
        lambda: torch.normal(0.0, 1.0, (2**62,), device=D), lambda: torch.full((2**62,), 1.5, device=D), lambda: one.expand(2**62).roll(1),
        lambda: one.gather(0, index.expand(2**62)), lambda: one.index_select(0, index.expand(2**62)),
        lambda: torch.arange(2**62, device=D),
    ]
    for call in calls:
        assert str(_raised(call)) == "Storage size calculation overflowed with sizes=[4611686018427387904]"
