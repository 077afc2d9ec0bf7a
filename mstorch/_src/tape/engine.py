"""The backward engine: it runs each node once, from the roots to the leaves, when all of the node's gradients have arrived."""
from __future__ import annotations

import heapq
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..core.modes import modes
from ..core.overriding import MODES, state
from ..core.sparse_parts import is_sparse
from ..core.tangents import LEVELS, on
from ..core.tensor_base import (
    TensorBase,
)
from .accumulate import add, put_gradient
from .bare import bare_of, dressed
from .node import FREED, Accumulate, Edge, Node
from .passes import Pass, check_fit, count_down, dependencies, push, ready_roots, running
from .places import without_values
from .replaced import all_replaced, replaced

_release = Node.release
_gradient = operator.itemgetter(1)


class _Watch(threading.local):
    """Thread-local anomaly mode: ``check`` is called with each node that ran, and with its gradients or, after an error, None."""

    check: Callable[[Node, Sequence[Any] | None], None] | None = None


watch = _Watch()
# Functions that run a node, and make the initial gradient, while a mode sees the calls below autograd; set by ``_aten``.
watchers: list[Callable[[Node, Sequence[Any], bool], Sequence[Any]]] = []
beginnings: list[Callable[[Any], Any]] = []


def is_watched() -> bool:
    """Return whether a mode of this thread intercepts calls below autograd."""
    return bool(MODES) and bool(state.dispatchers)


def _needed(nodes: Sequence[Node], ends: set[Node]) -> set[Node]:
    """Return the nodes from which one of ``ends`` can be reached, including ``ends``."""
    found = set(ends)
    state: dict[Node, bool] = {}
    for root in nodes:
        stack: list[tuple[Node, int]] = [(root, 0)]
        while stack:
            node, place = stack.pop()
            if node in state and place == 0:
                continue
            edges = node.edges
            if place < len(edges):
                state.setdefault(node, False)
                stack.append((node, place + 1))
                edge = edges[place]
                if edge is not None and edge[0] not in state:
                    stack.append((edge[0], 0))
                continue
            state[node] = True
            if node not in found and any(edge is not None and edge[0] in found for edge in edges):
                found.add(node)
    return found


def _targets(
    first: list[Node], wanted: Sequence[Edge | None] | None, only: Sequence[Node] | None
) -> tuple[dict[Node, list[int]], set[Node] | None]:
    """Return, by node, the output numbers whose gradients are wanted, and the nodes to run (None: all nodes)."""
    catching: dict[Node, list[int]] = {}
    if wanted is not None:
        for edge in wanted:
            if edge is not None:
                catching.setdefault(edge[0], []).append(edge[1])
        return catching, _needed(first, set(catching))
    return catching, None if only is None else _needed(first, set(only))


def _root_gradients(roots: Sequence[tuple[Edge, Any]]) -> tuple[list[Node], dict[Node, Any]]:
    """Return the root nodes, and by node the gradients of its outputs."""
    first: list[Node] = []
    buffers: dict[Node, Any] = {}
    for (node, number), gradient in roots:
        if node not in buffers:
            first.append(node)
            buffers[node] = [None] * (number + 1)
        _put(buffers[node], number, gradient)
    return first, buffers


class _Queue:
    """Nodes whose gradients are complete, those that were made last first.

    ``counts``: the number of incoming edges that have not been followed, by node. ``alone``: the node that waits if it is the only one, as
    in a chain, where the heap ``ready`` stays empty."""

    __slots__ = ("counts", "ready", "alone")

    def __init__(self, first: Sequence[Node]) -> None:
        self.counts = dependencies(first)
        single = len(first) == 1
        self.alone = first[0] if single and first[0] not in self.counts else None
        self.ready = [] if single else ready_roots(first, self.counts)

    def take(self) -> Node | None:
        """Return the next node; None if there is none."""
        node = self.alone
        if node is not None:
            self.alone = None
            return node
        return heapq.heappop(self.ready)[2] if self.ready else None

    def pass_on(self, node: Node, gradients: Sequence[Any], buffers: dict[Node, Any]) -> None:
        """Add the gradients of a node's inputs to those of the nodes that its edges lead to."""
        counts = self.counts
        for edge, gradient in zip(node.edges, gradients):
            if edge is None:
                continue
            below, number = edge
            if gradient is not None:
                buffer = buffers.get(below)
                if buffer is None:  # the usual case, one consumer: the gradient is handed on and not added to zeros
                    buffers[below] = [None] * number + [gradient] if number else [gradient]
                else:
                    _put(buffer, number, gradient)
            left = counts[below] = counts[below] - 1
            if left:
                continue
            if self.alone is None and not self.ready:
                self.alone = below  # a chain never touches the heap
                continue
            if self.alone is not None:
                push(self.ready, self.alone)
                self.alone = None
            push(self.ready, below)


def _walk(this: Pass, buffers: dict[Node, Any], catching: dict[Node, list[int]], recorded: bool, tensors: bool) -> dict[Edge, Any]:
    """Run the nodes of a pass; return the gradients of the outputs listed in ``catching``."""
    needed, check = this.needed, watch.check
    caught: dict[Edge, Any] = {}
    queue = _Queue(this.first)
    while True:
        node = queue.take()
        if node is None:
            return caught
        gradients = buffers.pop(node, None) or [None]
        if needed is not None and node not in needed:
            count_down(node, queue.counts, queue.ready)
            continue
        this.node = node  # hooks, anomaly mode and saved-tensor hooks ask which one runs
        marks = node.marks
        if marks is not None and (marks.pre or marks.retained):
            _fit(node, gradients)
            _run_pre(node, gradients, tensors)
        if catching and node in catching and not _catch(node, gradients, catching[node], caught, needed):
            count_down(node, queue.counts, queue.ready)
            continue
        if node.__class__ is Accumulate and gradients[0] is not None:
            gradient, gradients = gradients[0], None  # the leaf may keep an array that nobody else holds
            put_gradient(node, gradient, recorded)
            gradient = None
            continue
        queue.pass_on(node, _gradients_below(node, gradients, tensors, check, this.keep), buffers)
        gradients = None


def _gradients_below(
    node: Node, gradients: list[Any], tensors: bool, check: Callable[..., Any] | None, keep: bool
) -> Sequence[Any]:
    """Run a node and release what it saved, unless ``keep``; return the gradients of its inputs."""
    if gradients[0] is None and all(gradient is None for gradient in gradients):
        return (None,) * len(node.edges)
    marks = node.marks
    if marks is None and check is None and not MODES:
        if node.saved is None:
            raise RuntimeError(FREED)
        below = node.run(gradients, tensors)
        if node.marks is not None and node.hooks is not None:  # unpacking saved tensors may have added hooks
            below = _hooked(node, below, gradients, tensors)
    else:
        below = _run_marked(node, gradients, tensors, check)
    if not keep and node.saved:
        if type(node).release is _release:  # written out, because most nodes have no other
            node.saved = None
        else:
            node.release()
        if marks is not None:
            marks.watched = None
    return below


def run(
    roots: Sequence[tuple[Edge, Any]], keep: bool, recorded: bool, wanted: Sequence[Edge | None] | None = None,
    only: Sequence[Node] | None = None,
) -> list[Any]:  # fmt: skip
    """Propagate gradients from the roots.

    Without ``wanted`` they accumulate into the leaves; with ``only``, just these nodes and those that lead to them run. With ``wanted``,
    only the nodes that lead to these edges run, their gradients are returned (None if no gradient arrives), and no leaf accumulates any. In
    forward mode gradients are tensors, so that they have tangents.
    """
    tensors = recorded or (bool(LEVELS) and modes.levels > 0 and on()) or without_values(map(_gradient, roots))
    if tensors and not recorded:
        roots = [(edge, dressed(gradient)) for edge, gradient in roots]
    first, buffers = _root_gradients(roots)
    catching, needed = _targets(first, wanted, only)
    mode, this = modes.grad, Pass(keep, first, needed)
    inference, marks, hooks, depth = modes.inference, modes.marks, list(modes.saved_hooks), len(running.passes)
    try:  # before anything is set, because an interrupt may come anywhere
        running.accumulates.append(wanted is None and only is None)
        running.passes.append(this)
        modes.grad = recorded
        caught = _walk(this, buffers, catching, recorded, tensors)
    finally:
        modes.grad, modes.inference, modes.marks = mode, inference, marks  # hooks may have changed modes without restoring them
        modes.saved_hooks[:] = hooks
        try:
            while len(running.accumulates) == 1 and running.callbacks:  # a callback may add another one
                running.callbacks.pop(0)()
        finally:
            del running.accumulates[depth:], running.passes[depth:]
            if not running.accumulates:
                running.callbacks.clear()
    if wanted is None:
        return []
    return [None if edge is None else caught.get(edge) for edge in wanted]


def _run_marked(node: Node, gradients: list[Any], tensors: bool, check: Callable[..., Any] | None) -> Sequence[Any]:
    """Run a node that has hooks, or runs in a mode or in anomaly mode."""
    marks = node.marks
    if marks is not None and marks.watched:
        for item in marks.watched:
            item.check(node)
    if check is not None:
        try:
            return _run_node(node, gradients, tensors)
        except Exception:
            check(node, None)
            raise
    if MODES or (marks is not None and (marks.before is not None or marks.hooks is not None)):
        return _run_node(node, gradients, tensors)
    if node.saved is None:
        raise RuntimeError(FREED)
    found = node.run(gradients, tensors)
    return found if node.hooks is None else _hooked(node, found, gradients, tensors)


def _catch(node: Node, gradients: list[Any], numbers: list[int], caught: dict[Edge, Any], needed: Any) -> bool:
    """Store the wanted gradients of a node's outputs; return whether a node that one of its edges leads to has to run too."""
    _fit(node, gradients)
    for number in numbers:
        caught[node, number] = gradients[number] if number < len(gradients) else None
    return any(edge is not None and edge[0] in needed for edge in node.edges)


def _put(buffer: list[Any], number: int, gradient: TensorBase | Array) -> None:
    if number >= len(buffer):
        buffer.extend([None] * (number + 1 - len(buffer)))
    held = buffer[number]
    if held is None:
        buffer[number] = gradient
    else:
        buffer[number] = add(held, gradient)


def _run_node(node: Node, gradients: list[Any], recorded: bool) -> Sequence[Any]:
    if len(gradients) < node.width:
        gradients = gradients + [None] * (node.width - len(gradients))
    if node.before:
        given = tuple(dressed(gradient) for gradient in gradients)
        for hook in list(node.before.values()):
            changed = hook(given)
            if changed is not None:
                given = all_replaced(hook, given, changed)
        gradients = [bare_of(gradient, recorded) for gradient in given]
    if node.saved is None:
        raise RuntimeError(FREED)
    found = watchers[0](node, gradients, recorded) if is_watched() else node.run(gradients, recorded)
    check = watch.check
    if check is not None:
        check(node, found)
    return _hooked(node, found, gradients, recorded) if node.hooks else found


def _hooked(node: Node, found: Sequence[Any], gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
    """Run the hooks of a node; return the node's gradients, with those that a hook returned in place of the computed ones."""
    made, given = tuple(map(dressed, found)), tuple(map(dressed, gradients))
    for hook in list((node.hooks or {}).values()):
        changed = hook(made, given)
        if changed is not None:
            made = all_replaced(hook, made, changed)
    return tuple(bare_of(gradient, recorded) for gradient in made)


def _run_pre(node: Node, gradients: list[Any], recorded: bool) -> None:
    for number, hooks in (node.pre or {}).items():
        if number >= len(gradients):
            gradients.extend([None] * (number + 1 - len(gradients)))
        for hook in list(hooks.values()):
            given = dressed(gradients[number])
            changed = hook(given)
            if changed is not None:
                gradients[number] = bare_of(replaced(hook, given, changed), recorded)
    for number, keep in (node.retained or {}).items():
        if number < len(gradients) and gradients[number] is not None:
            keep(dressed(gradients[number]))


def _fit(node: Node, gradients: list[Any]) -> None:
    """Reshape gradients before they are passed to hooks and callers; the gradient of a leaf gets the shape that the leaf had in forward."""
    gradient = gradients[0]
    if node.__class__ is not Accumulate or not isinstance(gradient, (np.ndarray, TensorBase)) or is_sparse(gradient):
        node.fit(gradients)
        return
    own = gradient.shape if isinstance(gradient, np.ndarray) else gradient._ms_shape
    if own != node.shape:
        check_fit(node, own, node.shape)
        fitted = dressed(gradient).sum_to_size(node.shape)
        gradients[0] = bare_of(fitted, isinstance(gradient, TensorBase))
