"""torch.fx.experimental.optimization: layers that are joined or left out for inference, and parts of graphs as modules."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..._src.hook import missing as _missing
from ...nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ...nn.modules.conv import Conv1d, Conv2d, Conv3d
from ...nn.modules.dropout import Dropout
from ...nn.modules.linear import Linear
from ...nn.modules.module import Module
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

_PAIRS: dict[tuple[type, type], Callable[..., Module]] = {
    (Conv1d, BatchNorm1d): fuse_conv_bn_eval, (Conv2d, BatchNorm2d): fuse_conv_bn_eval, (Conv3d, BatchNorm3d): fuse_conv_bn_eval,
    (Linear, BatchNorm1d): fuse_linear_bn_eval,
}  # fmt: skip


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: Mapping[str, Module]) -> bool:
    """Return whether a node, and the node of its first argument, call modules of exactly these two classes."""
    if not node.args:
        return False
    return all(
        isinstance(one, Node) and one.op == "call_module" and isinstance(one.target, str) and type(modules.get(one.target)) is kind
        for kind, one in zip(pattern, (node.args[0], node))
    )


def replace_node_module(node: Node, modules: dict[str, Module], new_module: Module) -> None:
    """Put another module in the place of the one that a node calls."""
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Module:
    """Return a model for inference, in which each batch normalization with statistics is part of the convolution or linear layer before."""
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for pattern, joined in _PAIRS.items():
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue  # another node may use what the layer returns
            layer, norm = modules[node.args[0].target], modules[node.target]
            if norm.track_running_stats:
                replace_node_module(node.args[0], modules, joined(layer, norm))
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: Module) -> Module:
    """Return a model without its Dropout layers."""
    traced = symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for node in graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], Dropout):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def extract_subgraph(orig_module: Module, nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Node]) -> GraphModule:
    """Return a module of some nodes of a graph, which takes the values of ``inputs`` and returns those of ``outputs`` in a list."""
    graph, copies = Graph(), {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


class UnionFind:
    """Disjoint sets of the numbers below ``n``."""

    def __init__(self, n: int) -> None:
        self.parent: list[int | None] = [None] * n
        self.size = [0] * n

    def make_set(self, v: int) -> None:
        """Make a set of one number."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        """Return the number that stands for the set of ``v``. Raise AssertionError if it is in none."""
        path = [v]
        while (above := self.parent[path[-1]]) != path[-1]:
            if above is None:
                raise AssertionError("Parent is None")
            path.append(above)
        for number in path:
            self.parent[number] = path[-1]
        return path[-1]

    def join(self, a: int, b: int) -> Any:
        """Join the sets of two numbers: the larger one's stands for both. Return it if they were in one set already."""
        first, second = self.find(a), self.find(b)
        if first == second:
            return first
        if self.size[first] < self.size[second]:
            first, second = second, first
        self.parent[second] = first
        self.size[first] += self.size[second]
        return None


__all__ = ["UnionFind", "extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

__getattr__ = _missing(__name__)
