"""Nodes whose gradients are composed of tensor operations: factorizations and user-defined functions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.device_memory import full
from ..core.modes import modes
from ..core.storage import DeviceMemory
from ..core.tangents import LEVELS, is_dual, levels_of_all
from ..core.tensor_base import TensorBase, is_tracked, on_device, window
from .bare import bare_of, dressed
from .duals import refuse as refuse_native
from .forward import push
from .node import Node, edge_of, named, refuse_history
from .saved_values import USED_UP, Saved


class Composite(Node):
    """Node of ``backward(gradients, outputs, inputs, *rest)``, which computes with tensors and returns a tensor or None for each input."""

    __slots__ = ("backward", "rest", "count", "outputs")
    backward: Any
    outputs: Any  # shapes and dtypes of several results
    rest: Any
    count: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Call the backward function; return its gradients, summed to the shapes of the inputs."""
        tensors = [item if item is None else item.value(self, True) for item in self.saved]
        outputs, inputs = tensors[: self.count], tensors[self.count :]
        full = [dressed(gradient) for gradient in gradients] + [None] * (self.count - len(gradients))
        found = self.backward(full, outputs, inputs, *self.rest)
        return tuple(bare_of(fitted(gradient, like), recorded) for gradient, like in zip(found, inputs))

    def release(self) -> None:
        """Free the saved tensors, so that another backward raises. A node that saved no tensors is unchanged: backward may run again."""
        if self.rest or self.saved is USED_UP or any(item is not None and item.__class__ is not _Like for item in self.saved or ()):
            self.saved = None


class _Like:
    """Shape and dtype of an input, saved instead of the input's values."""

    __slots__ = ("shape", "dtype", "there")

    def __init__(self, tensor: TensorBase) -> None:
        self.shape, self.dtype, self.there = tensor._ms_shape, tensor._ms_dtype, tensor._ms_storage.__class__ is DeviceMemory

    def value(self, node: Composite, recorded: bool) -> TensorBase:
        """Return expanded zeros, which occupy one element, on the device of the input."""
        if self.there:
            zero = on_device(full((), 0, self.dtype.name))
            return window(zero._ms_storage, self.dtype, self.shape, (0,) * len(self.shape), 0)
        return dressed(np.broadcast_to(np.zeros((), self.dtype.np), self.shape))


class Refused(Node):
    """Node of an operation that is not differentiable: backward through it raises torch's error."""

    __slots__ = ("error",)
    error: Exception

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Raise the error."""
        raise self.error


def refuse(
    label: str, op: str, input: TensorBase, result: TensorBase, error: Exception | None = None, other: TensorBase | None = None
) -> TensorBase:
    """Make a result require grad although its operation is not differentiable in an input; backward through the result raises."""
    inputs = [item for item in (input, other) if item is not None]
    if LEVELS and any(map(is_dual, inputs)):
        raise NotImplementedError(
            f"Trying to use forward AD with {op} that does not support it because it has not been implemented yet."
        )
    if modes.grad and (modes.native is None or modes.native.follows) and any(map(is_tracked, inputs)):
        if error is None and all(item._ms_dtype.is_integral for item in inputs):
            refuse_history(result._ms_dtype)
        node: Any = named(Refused, label)([edge_of(item) for item in inputs])
        node.error = error or NotImplementedError(f"the derivative for '{op}' is not implemented.")
        result._ms_node, result._ms_number = node, 0
    return result


def fitted(gradient: TensorBase, like: Any) -> TensorBase | None:
    """Sum a gradient to the shape of its tensor, and take its real part if the tensor is real."""
    if gradient is None:
        return None
    if gradient._ms_dtype.is_complex and not like._ms_dtype.is_complex:
        gradient = gradient.real
    if tuple(gradient.shape) != tuple(like.shape):
        gradient = gradient.sum_to_size(tuple(like.shape))
    return gradient


def record(
    label: str, backward: Callable[..., Any], inputs: Sequence[Any], results: Sequence[Any], *rest: Any,
    forward: Callable[..., Sequence[Any]] | None = None, needed: Sequence[int] | None = None, kept: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Connect results that autograd does not track to ``inputs``, with ``backward(gradients, outputs, inputs, *rest)`` as their gradient.

    ``needed`` lists the outputs that ``backward`` needs (default: all); it gets None for the others. ``kept`` lists the inputs whose values
    it needs; of other inputs it gets only shape and dtype, so that they may be modified in place and are not kept alive.
    ``forward(tangents, outputs, inputs)`` returns the tangents of the results if they cannot be found by transposing ``backward``."""
    results = tuple(results)
    if modes.grad and (modes.native is None or modes.native.follows) and any(is_tracked(item) for item in inputs):
        _attach(label, backward, inputs, results, rest, range(len(results)) if needed is None else needed, kept)
    if LEVELS and levels_of_all(inputs):
        refuse_native(*inputs)
        push(inputs, results, lambda edges, saved: _node(label, edges, backward, rest, len(results), saved), forward, True)
    return results


def _node(label: str, edges: list[Any], backward: Callable[..., Any], rest: tuple[Any, ...], count: int, saved: list[Any]) -> Any:
    node: Any = named(Composite, label)(edges)
    node.backward, node.rest, node.count, node.saved = backward, rest, count, saved
    if count > 1:
        node.width = count
    return node


def _attach(
    label: str, backward: Callable[..., Any], inputs: Sequence[Any], results: tuple[Any, ...], rest: tuple[Any, ...], needed: Sequence[int],
    kept: Sequence[int] | None,
) -> None:  # fmt: skip
    node = _node(label, [edge_of(item) for item in inputs], backward, rest, len(results), [])
    node.outputs = [(item._ms_shape, item._ms_dtype) for item in results]
    for number, item in enumerate(results):
        if not item._ms_dtype.is_integral:
            item._ms_node, item._ms_number = node, number
    outputs = (Saved(item, True) if number in needed else None for number, item in enumerate(results))
    node.saved = [*outputs, *(Saved(item) if kept is None or number in kept else _Like(item) for number, item in enumerate(inputs))]
