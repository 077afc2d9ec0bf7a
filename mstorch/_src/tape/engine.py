"""The backward engine: it runs each node once, from the roots to the leaves, when all of the node's gradients have arrived."""
from __future__ import annotations

import heapq
import itertools
import operator
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.geometry import contiguous_strides
from ..backend.halves import BFLOAT16
from ..backend.raw import NAME_OF, NAME_OF_NP, Raw, raw_dtype
from ..backend.table import kernel
from ..core.modes import modes
from ..core.overriding import MODES, PLAIN, dispatches, state
from ..core.sparse_parts import is_sparse
from ..core.storage import NATIVE, Absent, Storage
from ..core.tangents import LEVELS, on
from ..core.tensor_base import (
    TensorBase,
    array_of,
    fresh,
    is_meta,
    is_tracked,
    put_raw,
    strides_of,
    tensor_of,
    to_meta,
    touch,
    value_of,
)
from ..quiet import silent
from .bare import bare_of, dressed
from .leaf_gradients import copied_like, copied_with_history, has_rows, in_order_of_leaf, may_be_adopted, own_on_device
from .node import FREED, Accumulate, Edge, Node
from .places import without_values
from .replaced import all_replaced, replaced

_add = kernel("add")


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
        counts = _dependencies(self.first)
        ready = _ready(self.first, counts)
        found = []
        while ready:
            node = heapq.heappop(ready)[2]
            if self.needed is None or node in self.needed:
                found.append(node)
            _count_down(node, counts, ready)
        return found


_release = Node.release
_numbers, _gradient = itertools.count().__next__, operator.itemgetter(1)
# Nodes with the same sequence number, such as leaves, run in the order in which they became ready.
_turn = itertools.count().__next__
running = _Running()


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


def add(first: Any, second: Any) -> Any:
    """Return the sum of two gradients of one tensor, in the memory order of the first if their strides differ, as in torch."""
    if first.__class__ is np.ndarray and second.__class__ is np.ndarray:
        if first.dtype == BFLOAT16 == second.dtype or first.dtype.names:
            return _add.host[NAME_OF_NP[first.dtype]](first, second)
        alike = first.strides == second.strides or first.dtype != second.dtype or first.shape != second.shape or 0 in first.strides
        found = silent.add(first, second, out=None if alike else np.empty_like(first))  # in the memory order of the sum so far
        return found if found.__class__ is np.ndarray else np.asarray(found)
    if isinstance(first, Raw) and isinstance(second, Raw):
        name = NAME_OF[raw_dtype(first)]
        return _add[name](first, second) if NAME_OF[raw_dtype(second)] == name else first + second
    first, second = dressed(first), dressed(second)
    return second + first if is_sparse(first) and not is_sparse(second) else first + second


def _dependencies(nodes: Sequence[Node]) -> dict[Node, int]:
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


def _ready(first: Sequence[Node], counts: dict[Node, int]) -> list[Any]:
    """Return the heap of the roots that have no incoming edge."""
    ready = [(-node.sequence, _turn(), node) for node in first if not counts.get(node)]
    heapq.heapify(ready)
    return ready


def _walk(this: Pass, buffers: dict[Node, Any], catching: dict[Node, list[int]], recorded: bool, tensors: bool) -> dict[Edge, Any]:
    """Run the nodes of a pass; return the gradients of the outputs listed in ``catching``."""
    keep, needed, check = this.keep, this.needed, watch.check
    caught: dict[Edge, Any] = {}
    counts = _dependencies(this.first)
    single = len(this.first) == 1
    alone = this.first[0] if single and this.first[0] not in counts else None
    ready = [] if single else _ready(this.first, counts)
    while ready or alone is not None:
        if alone is not None:
            node, alone = alone, None
        else:
            node = heapq.heappop(ready)[2]
        gradients = buffers.pop(node, None) or [None]
        if needed is not None and node not in needed:
            _count_down(node, counts, ready)
            continue
        this.node = node
        marks = node.marks
        if marks is not None and (marks.pre or marks.retained):
            _fit(node, gradients)
            _run_pre(node, gradients, tensors)
        if catching and node in catching and not _catch(node, gradients, catching[node], caught, needed):
            _count_down(node, counts, ready)
            continue
        if gradients[0] is None and all(gradient is None for gradient in gradients):
            found: Sequence[Any] = (None,) * len(node.edges)
        elif node.__class__ is Accumulate:
            gradient, gradients = gradients[0], None
            put_gradient(node, gradient, recorded)
            continue
        else:
            if marks is None and check is None and not MODES:
                if node.saved is None:
                    raise RuntimeError(FREED)
                found = node.run(gradients, tensors)
                if node.marks is not None and node.hooks is not None:  # unpacking saved tensors may have added hooks
                    found = _hooked(node, found, gradients, tensors)
            else:
                found = _run_marked(node, gradients, tensors, check)
            if not keep and node.saved:
                if type(node).release is _release:
                    node.saved = None
                else:
                    node.release()
                if marks is not None:
                    marks.watched = None
        for edge, gradient in zip(node.edges, found):
            if edge is None:
                continue
            below, number = edge
            if gradient is not None:
                buffer = buffers.get(below)
                if buffer is None:
                    if number == 0:
                        buffers[below] = [gradient]
                    else:
                        buffers[below] = [None] * number + [gradient]
                else:
                    _put(buffer, number, gradient)
            left = counts[below] = counts[below] - 1
            if not left:
                if alone is None and not ready:
                    alone = below  # in a chain no other node waits
                    continue
                if alone is not None:
                    heapq.heappush(ready, (-alone.sequence, _turn(), alone))
                    alone = None
                heapq.heappush(ready, (-below.sequence, _turn(), below))
        gradient = found = gradients = buffer = None  # type: ignore[assignment]  # a leaf may keep what nobody else holds
    return caught


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


def _push(ready: list[Any], node: Node) -> None:
    heapq.heappush(ready, (-node.sequence, _turn(), node))


def _count_down(node: Node, counts: dict[Node, int], ready: list[Any]) -> None:
    for below, _ in filter(None, node.edges):
        counts[below] -= 1
        if counts[below] == 0:
            _push(ready, below)


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


def put_gradient(node: Accumulate, gradient: Any, recorded: bool) -> None:
    """Accumulate a gradient into a leaf, and run the leaf's post-accumulate hooks."""
    tensor = node.tensor
    auto = tensor._ms_auto
    if not auto.leaf and not is_tracked(tensor):
        return  # it was detached in place in the meantime
    gradient = to_meta(tensor) if tensor._ms_storage.__class__ is Absent and is_meta(tensor) else gradient
    if node.marks is not None and node.before:
        given = (dressed(gradient),)
        for hook in list(node.before.values()):
            changed = hook(given)
            if changed is not None:
                given = all_replaced(hook, given, changed)
        gradient = bare_of(given[0], recorded)
        auto = tensor._ms_auto
    if gradient.__class__ is np.ndarray:
        if gradient.shape != node.shape:
            check_fit(node, gradient.shape, node.shape)
            gradient = bare_of(tensor_of(gradient).sum_to_size(node.shape), False)
            steps = zip(node.shape, contiguous_strides(node.shape), strides_of(tensor))
            if auto.grad is None and any(length != 1 and step != own for length, step, own in steps):
                gradient = np.array(np.broadcast_to(gradient, tensor._ms_shape))  # torch copies it to the leaf's memory order and size
        elif gradient.shape != tensor._ms_shape and auto.grad is None:
            gradient = in_order_of_leaf(gradient, tensor)
    elif isinstance(gradient, TensorBase):
        if type(gradient) not in PLAIN and dispatches(type(gradient)):
            auto.grad = gradient.detach() if auto.grad is None else auto.grad + gradient
            gradient = None
        elif not recorded:
            gradient = bare_of(gradient, False)
    seen = None if auto.grad is None or node.marks is None or not node.hooks else dressed(gradient)
    with _accumulating:
        _add_to(auto, tensor, gradient, recorded)
    seen = auto.grad if seen is None else seen
    for hook in list(auto.post.values()) if auto.post else ():
        _check_nothing(hook(tensor), tensor)
    for hook in list(node.hooks.values()) if node.marks is not None and node.hooks else ():
        hook((), (seen,))


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


# Two threads may add to one leaf. Adding calls code that may run a backward pass, so the lock is reentrant.
_accumulating = threading.RLock()
if hasattr(os, "register_at_fork"):  # the thread that held it does not exist in the child
    os.register_at_fork(after_in_child=_accumulating._at_fork_reinit)  # type: ignore[attr-defined]


def _add_to(auto: Any, tensor: TensorBase, gradient: TensorBase | Array, recorded: bool) -> None:
    held = auto.grad
    if gradient is None:
        return
    if held is None:
        if gradient.__class__ is np.ndarray:  # the leaf's gradient must not be shared: an array with other references is copied
            whole = gradient if may_be_adopted(gradient, tensor) else copied_like(gradient, tensor)
            auto.grad = fresh(whole) if modes.native is None and whole.flags.c_contiguous else tensor_of(whole)
        elif isinstance(gradient, TensorBase):
            # A sparse gradient is replaced, not modified, when more is added, so that another object over the same parts suffices.
            if recorded and not gradient._ms_sparse:
                auto.grad = copied_with_history(gradient, tensor)
            else:
                auto.grad = gradient.detach() if not recorded and gradient._ms_sparse and has_rows(gradient) else gradient.clone()
            if LEVELS and not recorded and auto.grad is not gradient:
                auto.grad = auto.grad.detach()  # as in torch, an untracked gradient has no tangents
        else:
            auto.grad = own_on_device(gradient, tensor)
    elif not recorded and is_sparse(gradient):
        held.add_(gradient)  # the same tensor is kept, sparse or not
    elif not recorded and gradient.__class__ is Raw and not held._ms_sparse and (
        tuple(gradient.shape) != held._ms_shape or gradient.dtype != held._ms_dtype.ms
    ):
        held.add_(dressed(gradient))  # which raises or casts
    elif recorded or held._ms_sparse or gradient.__class__ is not np.ndarray:
        total = add(held, dressed(gradient))
        if not (recorded or held._ms_sparse) and held._ms_storage.__class__ in NATIVE and held._ms_auto is held._ms_node is None:
            put_raw(held, value_of(total), True)  # the same tensor is kept
        else:
            auto.grad = total
    elif held._ms_auto is held._ms_node is None and held._ms_storage.__class__ is Storage and (
        gradient.dtype == held._ms_dtype.np and gradient.shape == held._ms_shape  # else torch's error for a leaf whose shape has changed
    ):
        array = array_of(held)
        if array.dtype == BFLOAT16:
            array[...] = _add.host["bfloat16"](array, gradient)
        else:
            silent.add(array, gradient, out=array)
        touch(held)
    else:
        held._ms_array = None if held._ms_storage.moved else held._ms_array
        held.add_(tensor_of(gradient))


def _check_nothing(result: TensorBase | int | None, tensor: TensorBase) -> None:
    if isinstance(result, TensorBase):
        if result is tensor:
            return
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if result is not None:
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def next_callback(function: Callable[[], None]) -> None:
    """Register a function to be called when the running backward pass has ended."""
    running.callbacks.append(function)
