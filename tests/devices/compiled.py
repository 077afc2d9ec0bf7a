"""torch.compile beside a device: ``python -m mstorch -m tests.devices.compiled`` (MSTORCH_FAKE_DEVICE=Ascend).

There are no graphs of them: what is compiled gives what it gives without, in every mode, warns once, and is no error with ``fullgraph``.
"""
from __future__ import annotations

import importlib.util
import pathlib
import warnings
from typing import Any

import mstorch as torch
from mstorch._backend import fake

MODELS = pathlib.Path(__file__).parents[2] / "examples/models"


def _example(name: str) -> Any:
    """A module of examples/models: it has ``build``, ``batch`` and ``loss``."""
    spec = importlib.util.spec_from_file_location(name, MODELS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _trained(example: Any, how: str) -> list[float]:
    """Losses of three steps on the device, of which nothing, the network or all is compiled."""
    torch.manual_seed(0)
    net, optimizer = example.build()
    net.npu()
    batch = [one.npu() for one in example.batch()]
    used = torch.compile(net, fullgraph=True) if how == "network" else net

    def step() -> Any:
        torch.manual_seed(1)
        optimizer.zero_grad()
        loss = example.loss(used, *batch)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if how == "step" else step
    return [run().item() for _ in range(3)]


def compiled() -> list[str]:
    """What differs from the same without a graph."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for options in ({}, {"fullgraph": True}, {"mode": "reduce-overhead", "fullgraph": True}, {"dynamic": True}):
            made = torch.compile(lambda x, y: (x * y).sin() @ y.t(), **options)
            x = torch.randn(4, 4).npu().requires_grad_()
            out = made(x, x.detach() + 1)
            want = (x * (x.detach() + 1)).sin() @ (x.detach() + 1).t()
            gradients = [torch.autograd.grad(one.sum(), x)[0] for one in (out, want)]
            if not torch.equal(out, want) or not torch.equal(*gradients) or not out.is_npu:
                found.append(f"function {options}")
        if [("a tensor of a device" in str(one.message)) for one in told] != [True] * 4:
            found.append(f"{[str(one.message) for one in told]}")
        fake.asked.clear()
        x = torch.randn(4, 4)
        if not torch.equal(torch.compile(lambda x: x.exp() @ x, fullgraph=True)(x), x.exp() @ x) or fake.asked:
            found.append(f"a tensor of the CPU: {dict(fake.asked)}")
        for name in ("gpt", "lstm_lm", "resnet", "transformer", "unet"):
            example = _example(name)
            plain, *others = (_trained(example, how) for how in ("not at all", "network", "step"))
            if others != [plain, plain] or plain[0] == plain[2]:
                found.append(f"{name}: {plain} {others}")
    for call in (torch.npu.NPUGraph, lambda: torch.npu.make_graphed_callables(len, ()), lambda: torch.npu.graph(None)):
        try:
            call()
            found.append(f"{call} gives a graph")
        except NotImplementedError as error:
            if "graphs of a device are MindSpore's own" not in str(error):
                found.append(str(error))
    return found


if __name__ == "__main__":
    print(compiled())
