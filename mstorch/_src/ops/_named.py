"""torch's node names for operations that are one autograd node in torch and several in mstorch."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.tensor_base import TensorBase
from ..tape.node import Node, named
from ..tape.saved_values import watch
from ..tape.writes import CopySlices


def call_node(result: TensorBase, label: str) -> TensorBase:
    """Rename the tensor's autograd node and return the tensor; a node that raises in backward keeps its name."""
    node = result._ms_node
    if node is not None and type(node).label not in (label, "NotImplemented"):
        node.__class__ = named(type(node), label)
    return result


def node_called(label: str | Callable[..., str], watched: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that names the nodes of a function's results; ``label`` may be a function of the arguments.

    The name is shown in reprs (``grad_fn=<NllLossBackward0>``); the nodes below are mstorch's. ``watched`` are arguments that torch saves
    and mstorch's nodes do not ("result": the result): backward raises if they are modified in between.
    """
    names = watched.split()

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        places = getattr(function, "__wrapped__", function).__code__.co_varnames if names else ()

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            word = label if isinstance(label, str) else label(*args, **kwargs)
            for item in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(item, TensorBase) and item._ms_node is not None and not _made_before(item._ms_node, args):
                    if word:
                        call_node(item, word)
                    if names:
                        given = {**dict(zip(places, args)), **kwargs, "result": item}
                        watch(item, *map(given.get, names))
            return result

        return called

    return decorate


def name_written(tensor: TensorBase, label: str) -> TensorBase:
    """Rename the node of a tensor that was written in place, unless it is a ``CopySlices`` node, and return the tensor."""
    return tensor if isinstance(tensor._ms_node, CopySlices) else call_node(tensor, label)


def written_by(label: str | Callable[..., str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that names the node of the tensor to which a function writes; ``label`` may be a function of the arguments."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(self: TensorBase, *args: Any, **kwargs: Any) -> TensorBase:
            before = self._ms_node
            function(self, *args, **kwargs)
            if self._ms_node is not before:
                name_written(self, label if isinstance(label, str) else label(self, *args, **kwargs))
            return self

        return called

    return decorate


def watching(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a ``node_called`` decorator that does not rename nodes, for functions that are several nodes in torch too."""
    return node_called("", names)


def _made_before(node: Node, args: tuple[Any, ...]) -> bool:
    """Return whether the node is that of an argument, which the function returned unchanged."""
    return any(isinstance(item, TensorBase) and item._ms_node is node for item in args)


def by_value(label: str, place: int, name: str, number: int = 0) -> Callable[..., str]:
    """Return a function that derives a node name from a call's arguments: ``label`` followed by ``number`` (0 or 1) if the argument
    ``name`` is a number, or by ``1 - number`` if it is a tensor."""

    def chosen(*args: Any, **kwargs: Any) -> str:
        value = args[place] if len(args) > place else kwargs.get(name)
        return f"{label}{1 - number if isinstance(value, TensorBase) else number}"

    return chosen


def by_rank(label: str, beside: int) -> Callable[..., str]:
    """Return a function of a call's arguments that returns ``label`` formatted with the input's number of dimensions minus ``beside``."""
    return lambda input, *args, **kwargs: label.format(len(input._ms_shape) - beside)
