"""One direction of a recurrent layer as one autograd node, in host memory: for sequences of equal length, without projections."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.host._sums import sum_along
from ...backend.host.matmul import product
from ...backend.host.rnn import NEXT, SEQUENCES
from ...core.modes import grad_set_to, modes
from ...core.tensor_base import TensorBase, array_of, is_tracked, tensor_of
from ...tape import engine
from ...tape.bare import bare, bare_twin
from ...tape.node import Node, edge_of, named
from ...tape.saved_values import saved_input
from ...tape.whole import apart, in_one_piece

Slow = Callable[..., tuple[Any, tuple[Any, ...]]]
_LABELS = {"LSTM": "LstmBackward0", "GRU": "GruBackward0", "RNN_TANH": "RnnTanhBackward0", "RNN_RELU": "RnnReluBackward0"}


class Direction(Node):
    """An autograd node of all time steps in one direction. ``places`` names its inputs; ``kept``: what ``slopes`` needs besides them;
    ``slow`` computes the same function by separate operations, for double backward.
    """

    __slots__ = ("kept", "reverse", "slow", "places")
    kept: Any
    reverse: bool
    slow: Any
    places: Any

    def slopes(self, gradients: Sequence[Any]) -> dict[str, Any]:
        """Return the gradients of the inputs, as arrays by their names."""
        raise NotImplementedError

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients of the inputs."""
        gradients = [*gradients, *([None] * (3 - len(gradients)))]
        if recorded:
            return self._recorded_gradients(gradients)
        slopes = self.slopes([None if item is None else bare(item) if isinstance(item, TensorBase) else item for item in gradients])
        return [None if edge is None else slopes[place] for place, edge in zip(self.places, self.edges)]

    def _recorded_gradients(self, gradients: Sequence[Any]) -> Sequence[Any]:
        tensors = {place: apart(item.value(self, True), edge) for place, item, edge in zip(self.places, self.saved, self.edges)}
        recorded = modes.grad
        with grad_set_to(True):
            output, state = self.slow(**tensors)
        roots = [(edge_of(made), seed) for made, seed in zip((output, *state), gradients) if seed is not None and is_tracked(made)]
        ends = [edge_of(tensors[place]) for place in self.places]
        return engine.run(roots, True, recorded, ends)  # type: ignore[arg-type]

    def release(self) -> None:
        """Release the saved states."""
        self.saved = self.kept = None


class _Sequence(Direction):
    """The node of all time steps from the input's contribution to the gates."""

    __slots__ = ("mode", "shapes")
    mode: str
    shapes: Any

    def slopes(self, gradients: Sequence[Any]) -> dict[str, Any]:
        """Return the gradients of the gates, states and weights."""
        w = self.saved[self.places.index("w")].value(self, False)
        steps, rows, size = self.shapes
        dtype = w.dtype
        g, dh, dc = gradients
        g = np.zeros((steps, rows, size), dtype) if g is None else g.reshape(steps, rows, size)
        zero = np.zeros((rows, size), dtype)
        by_gates, by_hidden, dh0, dc0 = SEQUENCES[self.mode][1](
            g[::-1] if self.reverse else g, zero if dh is None else dh, zero if dc is None else dc, w, self.kept
        )
        hs = self.kept[0] if len(self.kept) == 1 else self.kept[1]
        found: dict[str, Any] = {
            "gates": np.ascontiguousarray(by_gates[::-1] if self.reverse else by_gates).reshape(steps * rows, -1), "h": dh0, "c": dc0,
        }  # fmt: skip
        flat = by_hidden.reshape(steps * rows, -1)
        if self.edges[self.places.index("w")] is not None:
            # One product over all steps, which BLAS computes faster than the sum of a product for each step.
            found["w"] = product(flat.T, hs[:-1].reshape(steps * rows, size))
        if "b" in self.places:
            found["b"] = sum_along(flat, 0)
        return found


def fits(mode: str, batch_sizes: Sequence[int], tensors: Sequence[Any], w_hr: TensorBase | None) -> bool:
    """Return whether all time steps can be computed as one autograd node."""
    if w_hr is not None or mode not in SEQUENCES or not in_one_piece(tensors):
        return False
    if any(size != batch_sizes[0] for size in batch_sizes) or not batch_sizes[0]:
        return False
    kind = tensors[0]._ms_dtype
    return kind.name in ("float32", "float64") and all(t._ms_dtype is kind for t in tensors)


def next_state(mode: str, gates: TensorBase, state: tuple[Any, ...], w: TensorBase, b: TensorBase | None) -> tuple[Any, ...] | None:
    """Return the state after one step that autograd does not follow; None for another one."""
    function = NEXT.get(mode)
    tensors = (gates, *state, w) if b is None else (gates, *state, w, b)
    if function is None or (modes.grad and any(map(is_tracked, tensors))):
        return None
    cell = array_of(state[1]) if len(state) > 1 else None
    return tuple(map(tensor_of, function(array_of(gates), array_of(state[0]), cell, array_of(w), None if b is None else array_of(b))))


def run(
    mode: str, gates: TensorBase, steps: int, state: tuple[Any, ...], w: TensorBase, b: TensorBase | None, reverse: bool, slow: Slow
) -> tuple[Any, tuple[Any, ...]]:
    """Run all time steps, from the input's contribution to the gates (steps * N, gates * H); return outputs (steps * N, H) and the last
    state.
    """
    rows, size = state[0]._ms_shape
    # A copy, because the kernel writes the activations into it, which backward needs.
    given = np.array(array_of(gates), order="C").reshape(steps, rows, -1)
    if reverse:
        given = np.ascontiguousarray(given[::-1])
    cell = array_of(state[1]) if len(state) > 1 else None
    hs, last, kept = SEQUENCES[mode][0](given, array_of(state[0]), cell, array_of(w), None if b is None else array_of(b))
    outputs = hs[1:][::-1] if reverse else hs[1:]
    # Copies: a program may write to its results, and backward reads the states of all steps in ``hs``.
    made = [tensor_of(np.array(outputs, order="C").reshape(steps * rows, size)), tensor_of(hs[steps].copy())]
    if last is not None:
        made.append(tensor_of(last.copy()))
    places = ["gates", "h", *(["c"] if len(state) > 1 else []), "w", *([] if b is None else ["b"])]
    tensors = [gates, *state, w, *([] if b is None else [b])]
    if modes.grad and any(is_tracked(tensor) for tensor in tensors):
        node: Any = named(_Sequence, _LABELS[mode])([edge_of(tensor) for tensor in tensors])
        node.mode, node.kept, node.reverse, node.slow, node.places, node.shapes = mode, kept, reverse, slow, places, (steps, rows, size)
        node.saved = [saved_input(bare_twin(tensor) if tensor is gates and not is_tracked(gates) else tensor) for tensor in tensors]
        for number, item in enumerate(made):
            item._ms_node, item._ms_number = node, number
    return made[0], tuple(made[1:])
