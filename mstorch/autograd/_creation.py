"""node_creation_hook: a function of the program's that sees each node as an operation makes it."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._src.core import overriding
from .._src.core.tensor_base import TensorBase
from .._src.core.trees import tree_leaves
from .._src.leaving import END, Block, each, length_again
from .._src.tape.node import Accumulate, Node, node_of, numbers_ahead


class _Active(threading.local):
    def __init__(self) -> None:
        self.hooks: list[node_creation_hook] = []


_active = _Active()


class node_creation_hook(Block):
    """Context manager in which ``hook(node)`` is called for each node that is made, a leaf's among them.

    Nodes are looked for when a function of torch has ended, in the graph of its results, so that they are complete. Differs from torch: an
    operation that is one node there and several here shows all of them.
    """

    def __init__(self, hook: Callable[[Node], None]) -> None:
        self.hook = hook

    def __enter__(self) -> None:
        hooks, modes = _active.hooks, overriding.state.modes
        self.at_end(each(length_again(hooks), length_again(modes), overriding.MODES.pop))
        overriding.MODES[END:] = (None,)
        hooks[END:] = (self,)
        modes[END:] = (self,)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Run a function and call the hooks, the innermost first, for the nodes that it made."""

        def run() -> Any:
            return func(*args, **(kwargs or {}))

        return watched(run, (args, kwargs)) if _active.hooks and _active.hooks[-1] is self else run()


def is_watched() -> bool:
    """Return whether a hook waits for nodes in this thread."""
    return bool(_active.hooks)


def watched(run: Callable[[], Any], arguments: Any) -> Any:
    """Return ``run()``, and call the hooks for the nodes that it made."""
    tensors = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, TensorBase)]
    known = {id(node) for node in (_accumulator(tensor) for tensor in tensors) if node is not None}
    first = numbers_ahead()
    hooks, _active.hooks = _active.hooks, []
    try:
        result = run()
        for node in _made(first, known, [*tensors, *(leaf for leaf in tree_leaves(result) if isinstance(leaf, TensorBase))]):
            for one in reversed(hooks):
                one.hook(node)
    finally:
        _active.hooks = hooks
    return result


def _accumulator(tensor: Any) -> Any:
    auto = tensor._ms_auto
    return None if auto is None or auto.accumulator is None else auto.accumulator()


def _made(first: int, known: set[int], tensors: list[Any]) -> list[Node]:
    """Return the nodes with numbers from ``first`` on, in order; a leaf's node before the first one that leads to it."""
    places: dict[Node, tuple[int, int]] = {}
    waiting = [node for node in map(node_of, tensors) if node is not None and node.sequence >= first]
    while waiting:
        node = waiting.pop()
        if node in places:
            continue
        places[node] = (node.sequence, 1)
        for edge in node.edges:
            if edge is None or id(edge[0]) in known:
                continue
            if isinstance(edge[0], Accumulate):
                places[edge[0]] = min(places.get(edge[0], (node.sequence, 0)), (node.sequence, 0))
            elif edge[0].sequence >= first:
                waiting.append(edge[0])
    return sorted(places, key=places.__getitem__)
