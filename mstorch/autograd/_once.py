"""once_differentiable: gradients that refuse to be differentiated."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._src.core.modes import modes
from .._src.core.tensor_base import TensorBase, auto_of, is_tracked
from .._src.tape.bare import bare_twin
from .._src.tape.node import Node, edge_of
from .grad_mode import no_grad


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward so that it cannot be differentiated again."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            found = fn(ctx, *args)
        if not modes.grad or not any(isinstance(arg, TensorBase) and is_tracked(arg) for arg in args):
            return found
        results = found if isinstance(found, tuple) else (found,)
        refusing = _refuse_twice(results)
        return refusing if isinstance(found, tuple) else refusing[0]

    return wrapper


class _Once(Node):
    """The node of a gradient that is not differentiable."""

    __slots__ = ()
    in_the_open = True

    label = "Error"

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Raise RuntimeError: the gradient is not differentiable."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _refuse_twice(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the gradients with one node that refuses; its inputs, as in torch, are leaves of their own."""
    edges, copies = [], [bare_twin(item) if isinstance(item, TensorBase) else item for item in results]
    for item in results:
        leaf = bare_twin(item) if isinstance(item, TensorBase) else None
        if leaf is not None:
            auto_of(leaf).leaf = True
        edges.append(None if leaf is None else edge_of(leaf))
    node = _Once(edges)
    for number, copy in enumerate(copies):
        if isinstance(copy, TensorBase) and not copy._ms_dtype.is_integral:
            copy._ms_node, copy._ms_number = node, number
    return tuple(copies)
