"""Neighbours of nodes over several hops, in graphs of one and of several kinds of nodes."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...._src.backend.arrays import Array
from .choosing import chosen, edges_of, numbered

Kind = tuple[str, str, str]


@dataclass
class Nodes:
    """Sampled nodes of a kind: keys by which they are told apart, and for ``disjoint`` samples the number of each one's seed."""

    seeds: Array
    count: int  # nodes of the kind, or one more than the largest seen
    trees: Array | None = None
    node: Array = field(init=False)
    first: int = 0  # the first node of the last hop
    per_hop: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.node = self.seeds
        self.per_hop = [len(self.seeds)]

    def last(self) -> Array:
        """Return the places of the nodes that the last hop brought."""
        return np.arange(self.first, len(self.node))

    def added(self, node: Array, tree: Array | None) -> Array:
        """Return the places of nodes, those that are new at the end."""
        if self.trees is None or tree is None:
            place, fresh = numbered(self.node, node)
            self.node = np.concatenate([self.node, fresh])
            return place
        width = int(max(self.node.max(initial=0), node.max(initial=0))) + 1
        place, fresh = numbered(self.trees * width + self.node, tree * width + node)
        self.node = np.concatenate([self.node, fresh % width])
        self.trees = np.concatenate([self.trees, fresh // width])
        return place


@dataclass(frozen=True)
class Graph:
    """Edges of a kind by the node that is expanded, with what decides which are chosen."""

    bounds: Array
    other: Array
    weight: Array | None = None
    node_time: Array | None = None  # of the nodes at the other end
    edge_time: Array | None = None


@dataclass
class Found:
    """Sampled edges of a kind: places of the expanded nodes and of those at the other end, and the edges."""

    expanded: list[Array] = field(default_factory=list)
    other: list[Array] = field(default_factory=list)
    edge: list[Array] = field(default_factory=list)
    per_hop: list[int] = field(default_factory=list)

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return the three, hop after hop."""
        one, two, three = (np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (self.expanded, self.other, self.edge))
        return one, two, three


@dataclass(frozen=True)
class Way:
    """Options by which neighbours are sampled."""

    replace: bool
    last: bool
    draw: np.random.Generator


def expand(
    graph: Graph, expanded: Nodes, places: Array, count: int, way: Way, times: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return places of the expanded nodes, their chosen neighbours and the edges. ``times`` are those of the seeds."""
    group, edge = edges_of(graph.bounds, expanded.node[places])
    if times is not None and (graph.node_time is not None or graph.edge_time is not None):
        assert expanded.trees is not None
        latest = times[expanded.trees[places]][group]
        own = graph.edge_time[edge] if graph.edge_time is not None else graph.node_time[graph.other[edge]]  # type: ignore[index]
        group, edge = group[own <= latest], edge[own <= latest]
    kept = chosen(group, count, way.draw, way.replace, None if graph.weight is None else graph.weight[edge], way.last)
    return places[group[kept]], graph.other[edge[kept]], edge[kept]


def sample(
    graphs: dict[Kind, Graph], nodes: dict[str, Nodes], counts: dict[Kind, Sequence[int]], hops: int, way: Way, csc: bool,
    times: Array | None = None,
) -> dict[Kind, Found]:  # fmt: skip
    """Sample hop after hop from the nodes that the hop before brought, and return the edges of each kind. ``nodes`` grow."""
    found = {kind: Found() for kind in graphs}
    for hop in range(hops):
        last = {kind: own.last() for kind, own in nodes.items()}
        lengths = {kind: len(own.node) for kind, own in nodes.items()}
        for kind, graph in graphs.items():
            start, end = (kind[2], kind[0]) if csc else (kind[0], kind[2])
            count = counts[kind][hop] if hop < len(counts[kind]) else 0
            result = found[kind]
            if not count or not len(last[start]):
                result.per_hop.append(0)
                continue
            own, node, edge = expand(graph, nodes[start], last[start], count, way, times)
            trees = nodes[start].trees
            result.other.append(nodes[end].added(node, None if trees is None else trees[own]))
            result.expanded.append(own)
            result.edge.append(edge)
            result.per_hop.append(len(edge))
        for name, one in nodes.items():
            one.first = lengths[name]
            one.per_hop.append(len(one.node) - lengths[name])
    return found


def induced(graph: Graph, node: Array) -> tuple[Array, Array, Array]:
    """Return places of expanded nodes, of those at the other end, and edges: all edges between some nodes."""
    group, edge = edges_of(graph.bounds, node)
    order = np.argsort(node, kind="stable")
    place = np.searchsorted(node[order], graph.other[edge])
    inside = place < len(node)
    inside[inside] = node[order[place[inside]]] == graph.other[edge[inside]]
    return group[inside], order[place[inside]], edge[inside]


__all__ = ["Found", "Graph", "Kind", "Nodes", "Way", "expand", "induced", "sample"]
