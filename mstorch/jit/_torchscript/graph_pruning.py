"""Removal of the nodes of a graph on which no result and no effect depends."""

from __future__ import annotations

from collections.abc import Callable

from .._graph import Block, Graph, Node, Value

_EFFECTS = frozenset(
    f"prim::{name}"
    for name in "Print RaiseException SetAttr CallMethod CallFunction Enter Exit ReturnStmt BreakStmt ContinueStmt fork awaitable".split()
)


class _Live:
    """The nodes and values that are needed."""

    def __init__(self, graph: Graph, writes: Callable[[Node], bool]) -> None:
        self.values: set[int] = set()
        self.nodes: set[int] = set()
        self._writes = writes
        self._blocks: dict[int, tuple[Node, int]] = {}  # the block's owner, and its place, by the block's inputs' node
        self._owners: dict[int, Node] = {}  # the nodes around a node
        self._waiting: list[Value] = list(graph.outputs())
        self._enter(graph, None)
        while self._waiting:
            self._need(self._waiting.pop())

    def _enter(self, block: Block, owner: Node | None) -> None:
        for node in block._nodes:
            if owner is not None:
                self._owners[id(node)] = owner
            for place, inner in enumerate(node._blocks):
                self._blocks[id(inner._param)] = node, place
                self._enter(inner, node)
            if node.kind() in _EFFECTS or self._writes(node):
                self._keep(node)

    def _keep(self, node: Node) -> None:
        if id(node) in self.nodes:
            return
        self.nodes.add(id(node))
        owner = self._owners.get(id(node))
        if owner is not None:
            self._keep(owner)
        if node.kind() == "prim::Loop":
            self._waiting += [*node._inputs[:2], node._blocks[0]._outputs[0]]
        elif node.kind() == "prim::If":
            self._waiting += node._inputs
        else:
            self._waiting += [*node._inputs, *(value for block in node._blocks for value in block._outputs)]

    def _need(self, value: Value) -> None:
        if id(value) in self.values:
            return
        self.values.add(id(value))
        node = value.node()
        if id(node) in self._blocks:
            owner, _ = self._blocks[id(node)]
            self._keep(owner)
            place = node._outputs.index(value)
            if owner.kind() == "prim::Loop" and place:
                self._waiting += [owner._inputs[place + 1], owner._blocks[0]._outputs[place]]
            return
        self._keep(node)
        place = node._outputs.index(value) if node.kind() in ("prim::If", "prim::Loop") else 0
        if node.kind() == "prim::If":
            self._waiting += [block._outputs[place] for block in node._blocks]
        elif node.kind() == "prim::Loop":
            self._waiting += [node._inputs[place + 2], node._blocks[0]._outputs[place + 1]]


def prune(graph: Graph, writes: Callable[[Node], bool]) -> None:
    """Remove what is not needed: nodes, results of branches, values that loops carry. ``writes`` tells whether an operator has effects."""
    live = _Live(graph, writes)
    _sweep(graph, live)
    _count(graph)


def _sweep(block: Block, live: _Live) -> None:
    block._nodes = [node for node in block._nodes if id(node) in live.nodes]
    for node in block._nodes:
        if node.kind() == "prim::If":
            kept = [place for place, value in enumerate(node._outputs) if id(value) in live.values]
            for inner in node._blocks:
                inner._outputs = [inner._outputs[place] for place in kept]
            node._outputs = [node._outputs[place] for place in kept]
        elif node.kind() == "prim::Loop":
            inner = node._blocks[0]
            carried = inner._inputs[1:]
            kept = [
                place for place, value in enumerate(node._outputs) if id(value) in live.values or id(carried[place]) in live.values
            ]
            node._inputs = [*node._inputs[:2], *(node._inputs[place + 2] for place in kept)]
            inner._inputs = [inner._inputs[0], *(carried[place] for place in kept)]
            inner._outputs = [inner._outputs[0], *(inner._outputs[place + 1] for place in kept)]
            node._outputs = [node._outputs[place] for place in kept]
            inner._param._outputs = list(inner._inputs)
        for inner in node._blocks:
            _sweep(inner, live)


def _count(block: Block) -> None:
    """Set the users of the values."""
    for value in block._inputs:
        value._users = []
    for node in block._nodes:
        for value in node._outputs:
            value._users = []
    for node in block._nodes:
        for value in node._inputs:
            value._users.append(node)
        for inner in node._blocks:
            _count(inner)
    for value in block._outputs:
        value._users.append(block.returnNode())
