"""A native Cell's call as one node of mstorch's autograd graph, whose backward gets the gradients from MindSpore.

This is for what MindSpore's tape has to differentiate itself: a ``bprop``, ``recompute()``, backward hooks, an inner ``mindspore.grad``.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._src.backend import cell as native
from ..._src.backend import cell_calls as native_calls
from ..._src.backend import runtime, tape
from ..._src.backend.raw import Raw
from ..._src.core.tensor_base import TensorBase, is_tracked
from ..._src.tape.border import tape_value
from ..._src.tape.node import Node, edge_of, named
from ..._src.tape.saved_values import saved_input
from ..._tensor import Tensor
from ._trees import as_mstorch, as_native, changed


class _OneNode(Node):
    """The autograd node of a native Cell's call; its backward runs the Cell again, with MindSpore's autograd."""

    __slots__ = ("call", "cell", "outputs", "state", "inputs", "weights")
    call: Callable[..., Any]
    cell: Any
    outputs: list[Any]
    state: Any
    inputs: list[int]
    weights: list[Any]

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return MindSpore's gradients of the inputs, then of the weights."""
        kind = type(self.cell).__name__
        if recorded:
            raise NotImplementedError(
                f"mstorch: {kind} is differentiated by MindSpore itself, as a whole: its gradients cannot be differentiated again "
                "(create_graph=True)"
            )
        raws = [as_native(item.value(self, True).detach()) for item in self.saved]
        raws = raws[: len(self.inputs)]
        given = [number for number, gradient in enumerate(gradients) if gradient is not None]
        seeds = [tape_value(gradients[number]) for number in given]

        again: list[Any] = []

        def chosen(*raws: Any) -> Any:
            found = self.call(raws)
            again.extend(found)
            return found[given[0]] if len(given) == 1 else tuple(found[number] for number in given)

        with native_calls.as_it_was(self.cell, self.state, native.keeps_statistics):
            found = native_calls.gradients(chosen, raws, self.weights, seeds)
        if not all(map(_equal_results, self.outputs, again)):
            raise RuntimeError(
                f"mstorch: {kind}, which MindSpore differentiates by itself, gave other values when it ran once more for its gradients: "
                "random numbers (Dropout) or what it counts in Python belong into a module outside of it"
            )
        host = not hasattr(next(gradients[number] for number in given), "asnumpy")
        return [
            None if raw is None or edge is None else raw.asnumpy().copy() if host else raw for raw, edge in zip(found, self.edges)
        ]


def _equal_results(first: Raw, second: Raw) -> bool:
    """Return whether two runs gave equal results: bitwise on the host, up to rounding on a device, where the order of sums may vary."""
    once, again = first.asnumpy(), second.asnumpy()
    if once.shape != again.shape or once.dtype.kind not in "fc" or runtime.HOST_TARGET == "CPU":
        return bool(np.array_equal(once, again, equal_nan=once.dtype.kind in "fc"))
    largest = np.max(np.abs(once), initial=0, where=np.isfinite(once))
    return bool(np.allclose(once, again, 0, 16 * np.finfo(once.dtype).eps * largest, equal_nan=True))


def call_as_one(plain: Callable[..., Any], cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Call a Cell with torch tensors, as one node of the autograd graph to which all outputs belong."""
    state = native_calls.random_state()
    with native_calls.not_recorded(cell):
        output = plain(cell, *_bare(args), **_bare(kwargs))
    return one_node(plain, cell, args, kwargs, output, state)


def _bare(tree: dict[Any, Any] | tuple[Tensor, ...]) -> Any:
    return as_native(changed(tree, lambda leaf: leaf.detach() if isinstance(leaf, TensorBase) else leaf))


def _leaves(tree: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
    found: list[Any] = []
    changed(tree, lambda leaf: found.append(leaf) if is_leaf(leaf) else None)
    return found


def one_node(
    plain: Callable[..., Any], cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, state: Raw
) -> Tensor:  # fmt: skip
    """Return a Cell's outputs with the whole call as one node of the autograd graph."""
    inputs = _leaves((args, kwargs), lambda leaf: isinstance(leaf, TensorBase))
    weights = list({id(p): p for p in cell.trainable_params()}.values())
    tensors = [tensor for weight in weights for tensor in native.tensors_of(weight)[:1]]
    weights = [weight for weight in weights if native.tensors_of(weight)]
    made = changed(output, lambda leaf: as_mstorch(tape.detached(leaf)) if native.is_raw(leaf) else leaf)
    results = _leaves(made, lambda leaf: isinstance(leaf, TensorBase))
    if not any(map(is_tracked, [*inputs, *tensors])):
        return made

    def call(raws: Sequence[Any]) -> list[Any]:
        rest = iter(raws)
        filled = changed((args_only, kwargs_only), lambda leaf: next(rest) if leaf is _TENSOR else leaf)
        return _leaves(plain(cell, *filled[0], **filled[1]), native.is_raw)

    args_only, kwargs_only = changed((args, kwargs), lambda leaf: _TENSOR if isinstance(leaf, TensorBase) else leaf)
    node: Any = named(_OneNode, f"{type(cell).__name__}Backward")(
        [edge_of(item) if not item._ms_dtype.is_integral else None for item in [*inputs, *tensors]]
    )
    node.call, node.cell, node.state = call, cell, state
    node.inputs, node.weights = list(range(len(inputs))), weights
    node.outputs = _leaves(output, native.is_raw)
    node.saved = [saved_input(item) for item in [*inputs, *tensors]]
    if len(results) > 1:
        node.width = len(results)
    for number, result in enumerate(results):
        if not result._ms_dtype.is_integral:
            result._ms_node, result._ms_number = node, number
    return made


_TENSOR = object()
