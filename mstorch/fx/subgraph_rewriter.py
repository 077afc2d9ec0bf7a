"""torch.fx.subgraph_rewriter: replaces subgraphs that match a pattern."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._src.hook import missing as _missing
from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node


class Match(NamedTuple):
    """A match of a pattern: its last node, and a dict from the pattern's nodes to the graph's."""

    anchor: Node
    nodes_map: dict[Node, Node]


def _graph_of(pattern: Callable[..., Any] | Graph) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


class _Search:
    """Matches a pattern against the nodes that lead to a node of the graph."""

    def __init__(self, pattern: Graph) -> None:
        self.inputs = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.results = list(output.all_input_nodes)
        self.inner = [node for node in pattern.nodes if node.op not in ("placeholder", "output")]
        if len(self.results) != 1:
            raise NotImplementedError("mstorch: torch.fx.replace_pattern takes patterns with one result")

    def at(self, node: Node) -> dict[Node, Node] | None:
        """Return a dict from the pattern's nodes to the graph's, if the pattern matches with this last node."""
        found: dict[Node, Node] = {}
        if not self._same(self.results[0], node, found):
            return None
        # Inner nodes are removed, so that no other node may use them.
        inside = {found[one] for one in self.inner if one in found}
        for one in self.inner:
            if one in found and one is not self.results[0] and any(user not in inside for user in found[one].users):
                return None
        return found

    def _same(self, want: Any, got: Any, found: dict[Node, Node]) -> bool:
        if isinstance(want, Node):
            if want in found:
                return found[want] is got
            if want.op == "placeholder":
                found[want] = got
                return True
            if not isinstance(got, Node) or want.op != got.op or want.target != got.target:
                return False
            found[want] = got
            return self._same(want.args, got.args, found) and self._same(want.kwargs, got.kwargs, found)
        if isinstance(want, (tuple, list)) and isinstance(got, (tuple, list)):
            return len(want) == len(got) and all(self._same(a, b, found) for a, b in zip(want, got))
        if isinstance(want, dict) and isinstance(got, dict):
            return want.keys() == got.keys() and all(self._same(want[key], got[key], found) for key in want)
        if isinstance(want, slice) and isinstance(got, slice):
            return self._same((want.start, want.stop, want.step), (got.start, got.stop, got.step), found)
        return type(want) is type(got) and bool(want == got)


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace each match of ``pattern`` in the graph by ``replacement``; return the matches.

    Both are functions or GraphModules of the same inputs. Overlapping matches are replaced once.
    """
    wanted = _graph_of(pattern)
    other = _graph_of(replacement)
    search = _Search(wanted)
    parameters = [node for node in other.nodes if node.op == "placeholder"]
    if len(parameters) != len(search.inputs):
        raise RuntimeError("The pattern and the replacement take different numbers of inputs")
    matches: list[Match] = []
    taken: set[Node] = set()
    for node in list(gm.graph.nodes):
        found = search.at(node)
        if found is None:
            continue
        inside = {found[one] for one in search.inner}
        if inside & taken:
            continue
        taken |= inside
        matches.append(Match(node, found))
    replaced: dict[Node, Node] = {}
    for match in matches:
        values: dict[Node, Any] = {}
        for parameter, place in zip(parameters, search.inputs):
            value = match.nodes_map[place]
            values[parameter] = replaced.get(value, value) if isinstance(value, Node) else value
        with gm.graph.inserting_before(match.anchor):
            result = gm.graph.graph_copy(other, values)
        match.anchor.replace_all_uses_with(result)
        replaced[match.anchor] = result
        for one in reversed(search.inner):
            gone = match.nodes_map[one]
            if not gone._erased and not gone.users:
                gm.graph.erase_node(gone)
    _bring_attributes(gm, replacement)
    gm.recompile()
    return matches


def _bring_attributes(gm: GraphModule, replacement: Callable[..., Any]) -> None:
    if isinstance(replacement, Module):
        for node in gm.graph.nodes:
            if node.op in ("call_module", "get_attr") and not _has(gm, node.target):
                _copy_attr(replacement, gm, node.target)


def _has(module: Any, target: str) -> bool:
    for part in target.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


__all__ = ["Match", "replace_pattern"]

__getattr__ = _missing(__name__)
