"""The code of graphs wraps functions that `torch.fx.wrap` wrapped, so that a graph can be traced, copied and pickled like its source."""
from __future__ import annotations

import copy
import importlib
import operator
import os
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.against_torch import both

MODULE = """
import functools
import math
from math import sqrt
wrap("len")
wrap("sqrt")

@wrap
def shifted(x, by=1):
    return x + by

@wrap
@functools.lru_cache
def kept(x):
    return x - 1

def doubled(function):
    @functools.wraps(function)
    def inner(x):
        return function(x) * 2
    return inner

@wrap
@doubled
def more(x):
    return x + 3

@doubled
@wrap
def inside(x):
    return x + 4

class Decorated(torch.nn.Module):
    def forward(self, x):
        return kept(x) + more(x) + inside(x)

class Net(torch.nn.Module):
    def forward(self, x):
        return shifted(x, 2) * sqrt(x.shape[0]) + len(x) + math.floor(x.sum()) + shifted(x) + torch.relu(x)

class Outer(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x) * 2
"""
WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "traced": lambda torch, graph, made: graph, "again": lambda torch, graph, made: torch.fx.symbolic_trace(graph),
    "twice": lambda torch, graph, made: torch.fx.symbolic_trace(torch.fx.symbolic_trace(graph)),
    "within another": lambda torch, graph, made: torch.fx.symbolic_trace(made.Outer(graph)),
    "copied": lambda torch, graph, made: copy.deepcopy(graph), "pickled": lambda torch, graph, made: pickle.loads(pickle.dumps(graph)),
    "pickled, again": lambda torch, graph, made: torch.fx.symbolic_trace(pickle.loads(pickle.dumps(graph))),
    "transformed": lambda torch, graph, made: torch.fx.Transformer(graph).transform(),
    "written again": lambda torch, graph, made: (graph.recompile(), graph)[1],
    "autowrap": lambda torch, graph, made: torch.fx.GraphModule(made.Net(), torch.fx.Tracer(autowrap_functions=(made.shifted,)).trace(made.Net())),
}  # fmt: skip


def _module(torch: Any) -> Any:
    """Return a module that has the code of ``MODULE``."""
    importlib.import_module(f"{torch.__name__}.fx")
    made = types.ModuleType("wrapped_in_a_test")
    made.__dict__.update(torch=torch, wrap=torch.fx.wrap)
    sys.modules[made.__name__] = made
    exec(compile(MODULE, made.__name__, "exec"), made.__dict__)
    return made


@pytest.mark.parametrize("net", ["Net", "Decorated"])
@pytest.mark.parametrize("way", WAYS)
def test_code_and_values(way: str, net: str) -> None:
    def body(torch: Any) -> Any:
        made = _module(torch)
        try:
            graph = WAYS[way](torch, torch.fx.symbolic_trace(getattr(made, net)()), made)
            shown = [(node.name, node.op, node.meta.get("is_wrapped")) for node in graph.graph.nodes]
            return graph.code, shown, graph(torch.ones(4))
        finally:
            del sys.modules[made.__name__]

    both(body)


def test_wrap_is_told_where_it_may_stand() -> None:
    both(lambda torch: torch.fx.wrap("len"), message="wrap must be called at the top level of a module")


@pytest.mark.parametrize("given", ["kept", "sqrt", "object()", "functools.partial(kept)", "3", "'absent'"])
def test_what_can_be_wrapped(given: str) -> None:
    def body(torch: Any) -> Any:
        made = _module(torch)
        try:
            exec(compile(f"result = wrap({given})", "wrapped_in_a_test", "exec"), made.__dict__)
            return str(made.result).split(" at ")[0], torch.fx.symbolic_trace(lambda x: x + 1).code
        finally:
            registered = torch.fx._symbolic_trace
            registered = getattr(registered, "_wrapped_fns_to_patch", None) or registered._wrapped_names
            for key in [key for key, space in registered.items() if space is made.__dict__]:
                del registered[key]

    both(body)


@pytest.mark.parametrize("name", ["input", "len", "x"])
def test_inputs_keep_the_names_that_callers_give(name: str) -> None:
    """In the code, an input with the name of a built-in gets another name."""

    def body(torch: Any) -> Any:
        importlib.import_module(f"{torch.__name__}.fx")
        graph = torch.fx.symbolic_trace(eval(f"lambda {name}, id=2: {name} * id"))
        layers = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()))
        return graph.code, graph(**{name: torch.ones(2)}, id=3), layers.code, layers(input=torch.ones(2))

    both(body)


def test_forwards_have_no_annotations_where_import_torch_gets_mstorch() -> None:
    code = "import torch, torch.fx; print(torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU())).code)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = warm.done("-c", f"import mstorch; mstorch.install(); {code}", environment=environment)
    assert done.stdout.split("\n")[3] == "def forward(self, input):", done.stderr


@pytest.mark.parametrize("name", [
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "iand", "ior", "ixor", "imatmul", "add", "sub", "neg",
])  # fmt: skip
@pytest.mark.parametrize("returned", ["result", "operand"])
def test_operators_in_place_as_code(both, name, returned):
    """An in-place operator binds its first operand to the result, which numbers show."""

    def body(torch):
        graph = torch.fx.Graph()
        a, b = graph.placeholder("a"), graph.placeholder("b")
        out = graph.call_function(getattr(operator, name), (a,) if name == "neg" else (a, b))
        graph.output(out if returned == "result" else a)
        module = torch.fx.GraphModule({}, graph)
        return module.code, None if name == "imatmul" else module(7, 2), None if name[-1] in "tdrv" else module(torch.ones(2, 2), torch.ones(2, 2))

    both(body)
