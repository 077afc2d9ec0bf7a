"""Backward passes: what runs in each thread, and in which order the nodes of a pass run."""
from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .node import Node


class _Running(threading.local):
    """Backward passes that run in this thread, the innermost last."""

    def __init__(self) -> None:
        self.accumulates: list[bool] = []
        self.callbacks: list[Callable[[], None]] = []
        self.passes: list[Pass] = []

    @property
    def current(self) -> Node | None:
        """The node that is running, or None."""
        return self.passes[-1].node if self.passes else None


class Pass:
    """A backward pass: its number, whether it retains the graph, its roots, and the nodes to run (None: all)."""

    __slots__ = ("number", "keep", "first", "needed", "node")

    def __init__(self, keep: bool, first: Sequence[Node], needed: set[Node] | None) -> None:
        self.number, self.keep, self.first, self.needed = _numbers(), keep, first, needed
        self.node: Node | None = None  # that runs

    def runs(self, node: Node) -> bool:
        """Return True if the pass executes the node. As in torch, return False for a root if it is the only one."""
        if len(self.first) == 1 and node is self.first[0]:
            return False
        return (self.needed is None or node in self.needed) and node in self.order()

    def order(self) -> list[Node]:
        """Return the nodes of the pass in their order of execution."""
        counts = dependencies(self.first)
        ready = ready_roots(self.first, counts)
        found = []
        while ready:
            node = heapq.heappop(ready)[2]
            if self.needed is None or node in self.needed:
                found.append(node)
            count_down(node, counts, ready)
        return found


_numbers = itertools.count().__next__
# Nodes with the same sequence number, such as leaves, run in the order in which they became ready.
turn = itertools.count().__next__
running = _Running()


def dependencies(nodes: Sequence[Node]) -> dict[Node, int]:
    """Return the number of incoming edges of each node below the roots."""
    counts: dict[Node, int] = {}
    seen = set(nodes)
    waiting = list(nodes)
    while waiting:
        for edge in waiting.pop().edges:
            if edge is not None:
                node = edge[0]
                counts[node] = counts.get(node, 0) + 1
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
    return counts


def ready_roots(first: Sequence[Node], counts: dict[Node, int]) -> list[Any]:
    """Return the heap of the roots that have no incoming edge."""
    ready = [(-node.sequence, turn(), node) for node in first if not counts.get(node)]
    heapq.heapify(ready)
    return ready


def push(ready: list[Any], node: Node) -> None:
    """Add a node to the heap of those that may run."""
    heapq.heappush(ready, (-node.sequence, turn(), node))


def count_down(node: Node, counts: dict[Node, int], ready: list[Any]) -> None:
    """Follow the edges of a node that does not run."""
    for below, _ in filter(None, node.edges):
        counts[below] -= 1
        if counts[below] == 0:
            push(ready, below)


def check_fit(node: Node, own: Sequence[int], shape: Sequence[int]) -> None:
    """Raise torch's error unless a gradient that arrived at a node can be summed to the shape that its tensor had."""
    lead = len(own) - len(shape)
    if lead < 0 or any(length not in (1, given) for length, given in zip(shape, own[lead:])):
        raise RuntimeError(f"{_maker(node)} - got {list(own)} but expected shape compatible with {list(shape)}")


def _maker(end: Node) -> str:
    """Return the text "Function NAME returned an invalid gradient at index N" for the first node to run whose edge N leads to ``end``."""
    waiting = list(running.passes[-1].first)
    seen, makers = set(waiting), []
    while waiting:
        node = waiting.pop()
        for place, edge in enumerate(node.edges):
            if edge is not None and edge[0] is end:
                makers.append((node.sequence, node.name(), place))
            elif edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                waiting.append(edge[0])
    if not makers:
        return "invalid gradient at index 0"
    _, name, place = max(makers)
    return f"Function {name} returned an invalid gradient at index {place}"


def next_callback(function: Callable[[], None]) -> None:
    """Register a function to be called when the running backward pass has ended."""
    running.callbacks.append(function)
