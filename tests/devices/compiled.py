"""torch.compile of a device's tensors: ``python -m mstorch -m tests.devices.compiled`` (MSTORCH_FAKE_DEVICE=Ascend).

What is captured gives what it gives without a graph, and reads nothing; what is not says why, once; graphs are counted, so that nothing
passes for a graph that is none. Prints what is not so.
"""
from __future__ import annotations

import importlib.util
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import fake
from mstorch._src.compile.compiled import Compiled
from tests.devices.compiled_functions import BROKEN, FUNCTIONS, arguments

MODELS = pathlib.Path(__file__).parents[2] / "examples/models"
NAMES = ("gpt", "lstm_lm", "resnet", "transformer", "unet")
# Adam divides by the root of the squared gradients: with a small eps, gradients that are rounding errors would move parameters far.
OPTIMIZERS = {"SGD": {"lr": 0.01, "momentum": 0.9}, "Adam": {"lr": 0.01, "eps": 0.1}, "AdamW": {"lr": 0.01, "eps": 0.1}}


def _example(name: str) -> Any:
    """Return a module of examples/models, which has ``build``, ``batch`` and ``loss``."""
    spec = importlib.util.spec_from_file_location(name, MODELS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _kept(made: Compiled) -> list[str]:
    """Return for each kind of arguments "graph", or the reason why there is no graph."""
    entries = [entry for kind in made.entries.values() for entry in kind]
    return [entry.reason.reason if entry.reason else "graph" if entry.graph else "no graph is needed" for entry in entries]


def _far(found: Any, wanted: Any, close: float = 1e-5) -> bool:
    """Return whether two tensors differ in device, dtype, shape, strides or values."""
    if (found.device, found.dtype, found.shape, found.stride()) != (wanted.device, wanted.dtype, wanted.shape, wanted.stride()):
        return True
    return not torch.allclose(found, wanted, rtol=close, atol=close, equal_nan=True)


_KINK = 5e-4
"""Tolerance after the first of three steps. Rounding decides the sign of an activation at zero, and with it whether a gradient passes: on one
processor a weight of the ResNet differed by 7e-5 for that.
"""


def _trained_apart(found: list[Any], wanted: list[Any]) -> bool:
    """Return whether the first losses of two runs differ by more than rounding, or later ones by more than a kink of ReLU explains."""
    return _far(found[0], wanted[0]) or any(_far(one, other, _KINK) for one, other in zip(found, wanted))


def _steps(example: Any, net: Any, run: Any, optimizer: str, batch: Any, whole: bool = False) -> list[Any]:
    """Return the losses of three steps, and the parameters and buffers after them."""
    chosen = getattr(torch.optim, optimizer)(net.parameters(), **OPTIMIZERS[optimizer])

    def step() -> Any:
        chosen.zero_grad()
        loss = example.loss(run, *batch)
        loss.backward()
        chosen.step()
        return loss.detach()

    call = torch.compile(step, backend="mindspore") if whole else step
    losses = []
    for number in range(3):
        torch.manual_seed(number)
        losses.append(call())
    return [*losses, *(tensor.detach().clone() for tensor in net.state_dict().values())]


def _networks() -> list[str]:
    """Check each network of the examples with three optimizers: compiled alone, and as a part of a compiled step."""
    found: list[str] = []
    for name in NAMES:
        example = _example(name)
        torch.manual_seed(0)
        net = example.build()[0].npu()
        start = {key: value.clone() for key, value in net.state_dict().items()}
        batch = [one.npu() for one in example.batch()]
        made = torch.compile(net, mode="reduce-overhead", fullgraph=True)
        for optimizer in OPTIMIZERS:
            results = []
            for run in (net, made):
                net.load_state_dict(start)
                results.append(_steps(example, net, run, optimizer, batch))
            if _trained_apart(results[1], results[0]) or not _far(results[0][0], results[0][2]):
                found.append(f"{name}, {optimizer}: {results[0][:3]} {results[1][:3]}")
        if _kept(made.dynamo_ctx) != ["graph"]:
            found.append(f"{name}: {_kept(made.dynamo_ctx)}")
        fake.transfers.clear()
        made.zero_grad()
        example.loss(made, *batch).backward()
        if fake.transfers:
            found.append(f"{name}: a step of its graph reads {dict(fake.transfers)}")
        net.load_state_dict(start)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            whole = _steps(example, net, net, "AdamW", batch, whole=True)
        kept = _kept(net.__dict__["_graphs"])
        if _trained_apart(whole, results[0]) or kept != ["graph"] or len(told) != 1 or "gradients are cleared" not in str(told[0].message):
            found.append(f"{name}, the whole step: {whole[:3]}, {kept}, {[str(one.message) for one in told]}")
    return found


def _outcome(function: Callable[..., Any], given: list[Any]) -> list[Any]:
    """Return a function's result, the gradients of its arguments, and the arguments after the call."""
    args = [one.detach().clone().requires_grad_(one.requires_grad) for one in given]
    torch.manual_seed(2)
    results = function(*args)
    results = list(results) if isinstance(results, tuple) else [results]
    tracked = [one for one in results if one.requires_grad]
    if tracked:
        sum(one.sin().sum() for one in tracked).backward()
    return [*results, *(one.grad for one in args if one.is_leaf and one.grad is not None), *args]


def _functions() -> list[str]:
    """Check small functions: those that are graphs, and those that break, with the reason."""
    found: list[str] = []
    every: dict[str, Any] = {**FUNCTIONS, **BROKEN}
    for name, function in every.items():
        function, reason = function if isinstance(function, tuple) else (function, "graph")
        given = arguments(function)
        made = Compiled(function, name)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            wanted, *others = _outcome(function, given), *[_outcome(lambda *args: made(args, {}), given) for _ in range(2)]
        for other in others:
            if len(other) != len(wanted) or any(map(_far, other, wanted)):
                found.append(f"{name}: {wanted} {other}")
        kept = _kept(made)
        if len(kept) != 1 or reason not in kept[0] or len(told) != (name in BROKEN):
            found.append(f"{name}: {kept}, {[str(one.message) for one in told]}")
    return found


def _places() -> list[str]:
    """Check functions of CPU tensors, of device tensors, and of modules that are moved."""
    found: list[str] = []
    made = Compiled(lambda x: x.exp() @ x, "product", fullgraph=True)
    here = torch.randn(4, 4)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for x in (here, here.npu(), here, here.npu()):
            fake.asked.clear()
            result = made((x,), {})
            if not x.is_npu and fake.asked:
                found.append(f"a product on the CPU: {dict(fake.asked)}")
            if _far(result, x.exp() @ x):
                found.append(f"a product on {x.device}: {result.device}")
    if len(told) != 1:
        found.append(f"a product: {[str(one.message) for one in told]}")
    if sorted(_kept(made)) != ["a tensor of the CPU is an argument, and MindSpore's graphs compute on the device", "graph"]:
        found.append(f"{_kept(made)}")
    net = torch.nn.Linear(4, 4)
    run = torch.compile(net, backend="mindspore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in ("cpu", "npu", "cpu", "npu"):
            net.to(place)
            x = here.to(place)
            if _far(run(x), net(x)):
                found.append(f"a module on {place}")
    if "graph" not in _kept(run.dynamo_ctx):
        found.append(f"a module that moves: {_kept(run.dynamo_ctx)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.compile(lambda x: x + here, backend="mindspore")(here.npu())
        found.append("a sum of two devices")
    except RuntimeError as error:
        if "on the same device" not in str(error):
            found.append(str(error))
    return found


def _replayed() -> list[str]:
    found: list[str] = []
    x, graph = torch.ones(3, device="npu"), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2
    x.fill_(4)
    graph.replay()
    if y.tolist() != [8.0] * 3:
        found.append(f"a replayed graph: {y}")
    try:
        with torch.npu.graph(torch.npu.NPUGraph()):
            (x * 2).sum().item()
        found.append("a graph of code that reads")
    except RuntimeError as error:
        if "values of a tensor are read" not in str(error):
            found.append(str(error))
    return found


if __name__ == "__main__":
    print([*_networks(), *_functions(), *_places(), *_replayed()])
