"""Names that are no identifiers: they become quoted texts in the source of a graph's function, never code."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mstorch

RUN: list[str] = []
CODE = "__import__('tests.fx.test_hostile_names').fx.test_hostile_names.RUN.append('ran')"
NAMES = (f"x=0, y={CODE}", f'", 1) or {CODE} #', f"', 1) or {CODE} #", f"a = 0\n    {CODE}\n    b", "class", "a b", "", "\\", "name", "{}", '"')


def _graph(build: Callable[[Any, Any], Any]) -> Any:
    graph = mstorch.fx.Graph()
    node = build(graph, graph.placeholder("x"))
    graph.output(node)
    return graph


def run(graph: Any, root: Any, x: Any = None) -> Any:
    return mstorch.fx.GraphModule(root, graph)(x)


def _collect(*args: Any, **kwargs: Any) -> Any:
    return list(kwargs)


class Answers(mstorch.nn.Module):
    """A module with children, tensors and methods of any name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._modules[name] = mstorch.nn.Identity()
        self.__dict__[f"of {name}"] = 3


@pytest.mark.parametrize("name", NAMES)
def test_names_become_texts(name: str) -> None:
    RUN.clear()
    assert run(_graph(lambda graph, x: graph.call_function(_collect, (x,), {name: 1})), mstorch.nn.Module()) == [name]
    child = run(_graph(lambda graph, x: graph.call_module(name, (x,))), Answers(name), 5) if "." not in name and name else 5
    assert child == 5
    if "." not in name:
        assert run(_graph(lambda graph, x: graph.get_attr(f"of {name}")), Answers(name)) == 3
    assert run(_graph(lambda graph, x: graph.call_function(dict, (), {"a": {name: x}})), mstorch.nn.Module(), 2) == {"a": {name: 2}}
    holder = type("Holder", (), {name: lambda self, *, word: word})()
    assert run(_graph(lambda graph, x: graph.call_method(name, (x,), {"word": 4})), mstorch.nn.Module(), holder) == 4
    assert run(_graph(lambda graph, x: graph.call_function(getattr, (x, name))), mstorch.nn.Module(), holder)(word=6) == 6
    assert RUN == []


@pytest.mark.parametrize("name", NAMES)
def test_inputs_of_any_name(name: str) -> None:
    RUN.clear()
    graph = mstorch.fx.Graph()
    if name.startswith("*"):
        return
    graph.output(graph.placeholder(name))
    assert mstorch.fx.GraphModule(mstorch.nn.Module(), graph)(7) == 7
    assert RUN == []
