"""``.graph`` of scripts: the nodes that torch has for the same archive, with their blocks, inputs, results and types."""
from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any, Optional

import pytest
import torch

import mstorch
from tests.jit import torchscript_operators  # noqa: F401 - registers its samples
from tests.jit.torchscript_samples import SAMPLES
from tests.saved import saved

pytestmark = pytest.mark.filterwarnings("ignore")
_CONSTANT = "prim::Constant"
FOLDED = ("volumes", "attention", "reductions", "functions")
"""Samples in whose inlined graphs one library keeps branches that the other knows never to be taken, such as ``if inplace``."""


class Told:
    """A graph as a list: each node's kind, attributes, types of its results, and where its inputs come from."""

    def __init__(self, graph: Any) -> None:
        self._numbers: dict[str, str] = {}
        self.lines: list[str] = []
        self._block(graph, "")

    def _name(self, value: Any) -> str:
        node = value.node()
        if node.kind() == _CONSTANT:
            constant = "a function" if value.type().kind() == "FunctionType" else value.toIValue()
            return f"<{'tensor' if hasattr(constant, 'dim') else constant!r}>"
        return self._numbers.setdefault(value.debugName(), f"%{len(self._numbers)}")

    def _block(self, block: Any, indent: str) -> None:
        self.lines.append(f"{indent}({', '.join(f'{self._name(value)} : {_kind(value)}' for value in block.inputs())})")
        for node in block.nodes():
            if node.kind() == _CONSTANT:
                continue
            name = f"[{node.s('name')}]" if node.hasAttribute("name") else ""
            results = ", ".join(f"{self._name(value)} : {_kind(value)}" for value in node.outputs())
            self.lines.append(f"{indent}{results} = {node.kind()}{name}({', '.join(map(self._name, node.inputs()))})")
            for inner in node.blocks():
                self._block(inner, f"{indent}  ")
        self.lines.append(f"{indent}-> ({', '.join(map(self._name, block.outputs()))})")


def _kind(value: Any) -> str:
    return re.sub(r"NamedTuple\(.*\)", "NamedTuple", value.type().kind())


def graphs(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the graphs of a sample's archive, of torch and of mstorch, and the inlined ones."""
    torch.manual_seed(0)
    file = saved(torch.jit.save, SAMPLES[name]()[0])
    theirs, own = torch.jit.load(io.BytesIO(file.getvalue())), mstorch.jit.load(file)
    return theirs.graph, own.graph, theirs.inlined_graph, own.inlined_graph


def counted(graph: Any) -> Counter[str]:
    """Return how many nodes of each kind a graph has, but those of constants."""
    kinds: Counter[str] = Counter()
    for node in graph.nodes():
        kinds[node.kind()] += node.kind() != _CONSTANT
        for block in node.blocks():
            kinds += counted(block)
    return +kinds


def computing(graph: Any) -> set[str]:
    """Return the kinds of operators that give a tensor."""
    kinds = set()
    for node in graph.nodes():
        if node.kind().startswith("aten::") and node.outputsSize() and node.outputsAt(0).type().kind() == "TensorType":
            kinds.add(node.kind())
        for block in node.blocks():
            kinds |= computing(block)
    return kinds


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(SAMPLES))
def test_nodes_are_torchs(name: str) -> None:
    theirs, own, inlined, own_inlined = graphs(name)
    assert Told(theirs).lines == Told(own).lines
    assert name in FOLDED or computing(own_inlined) == computing(inlined)
    assert not {"prim::CallFunction", "prim::CallMethod"} & (counted(own_inlined).keys() - counted(inlined).keys())


class Loops(mstorch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = mstorch.nn.Linear(3, 3)

    def forward(self, x: mstorch.Tensor, n: int, y: Optional[mstorch.Tensor] = None) -> mstorch.Tensor:  # noqa: UP045 - as scripts write it
        for i in range(n):
            if i > 1 and n < 5:
                x = self.layer(x)
            else:
                x += 1
        if y is None:
            return x
        doubled = [k * 2 for k in range(n)]
        return x[0, 1:] + y + doubled[-1]


def test_scripts_of_mstorch_have_graphs() -> None:
    script = mstorch.jit.script(Loops())
    graph = script.graph
    assert [value.debugName() for value in graph.inputs()] == ["self", "x.1", "n.1", "y.1"]
    assert counted(graph) == Counter({
        "prim::Loop": 2, "aten::gt": 1, "prim::If": 3, "aten::lt": 1, "prim::GetAttr": 1, "prim::CallMethod": 1, "aten::add_": 1, "aten::__is__": 1,
        "prim::ListConstruct": 1, "aten::mul": 1, "aten::append": 1, "aten::select": 1, "aten::slice": 1, "prim::unchecked_cast": 1, "aten::add": 2,
        "aten::__getitem__": 1,
    })  # fmt: skip
    loop = graph.findNode("prim::Loop")
    (body,) = loop.blocks()
    assert [str(value.type()) for value in body.inputs()] == ["int", "Tensor"] and len(list(body.outputs())) == 2
    (call,) = graph.findAllNodes("prim::CallMethod")
    assert call.s("name") == "forward" and call.inputsAt(0).node().kind() == "prim::GetAttr" and call.output().uses()
    assert graph.findNode("prim::CallMethod", recurse=False) is None
    assert script.inlined_graph.findNode("aten::linear") is not None and script.inlined_graph.findNode("prim::CallMethod") is None
    text = str(graph)
    assert text.startswith("graph(%self : __torch__.") and "block0(%i.1 : int, %x.2 : Tensor):" in text and "    -> (" in text


def test_functions_and_traces_have_graphs() -> None:
    def scaled(x: mstorch.Tensor, k: int) -> mstorch.Tensor:
        return x.relu() * k

    script = mstorch.jit.script(scaled)
    assert [value.debugName() for value in script.graph.inputs()] == ["x.1", "k.1"]
    assert list(counted(script.graph)) == ["aten::relu", "aten::mul"]
    trace = mstorch.jit.trace(mstorch.nn.Sequential(mstorch.nn.Linear(3, 3), mstorch.nn.ReLU()), mstorch.ones(2, 3))
    assert [node.kind() for node in trace.inlined_graph.nodes() if node.kind().startswith("aten")] == ["aten::linear", "aten::relu"]
    assert "torch.linear(input" in trace.code


class _OtherWord(mstorch.nn.Module):
    def __init__(s) -> None:
        super().__init__()
        s.layer = mstorch.nn.Linear(2, 2)

    def forward(s, x: mstorch.Tensor) -> mstorch.Tensor:
        return s.layer(x)


def test_a_method_may_call_its_module_otherwise_than_self() -> None:
    script = mstorch.jit.script(_OtherWord())
    file = saved(mstorch.jit.save, script)
    x = torch.randn(3, 2)
    want = torch.jit.load(file)(x).detach().numpy()
    assert abs(script(mstorch.tensor(x.numpy())).detach().numpy() - want).max() < 1e-6


def test_what_no_archive_holds_has_no_graph() -> None:
    def wrong(x: mstorch.Tensor) -> mstorch.Tensor:
        with open(__file__) as file:
            return x + len(file.read())

    with pytest.raises(AttributeError, match="has no 'graph'"):
        _ = mstorch.jit.script(wrong).graph
