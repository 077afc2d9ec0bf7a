"""One direction of an LSTM layer in float32 by oneDNN, in host memory: the kernels that torch takes, so that the results are torch's, and
one autograd node.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.host.lstm import FOUND, layer, layer_slopes
from ...core.dtype import float32
from ...core.modes import modes
from ...core.tensor_base import TensorBase, array_of, is_tracked, tensor_of
from ...tape.node import edge_of, named
from ...tape.saved_values import saved_input
from ...tape.whole import in_one_piece
from .rnn_sequence import Direction, Slow


class _Layer(Direction):
    """The node of all time steps."""

    __slots__ = ()

    def slopes(self, gradients: Sequence[Any]) -> dict[str, Any]:
        """Return the gradients of the input, the weights and the states."""
        values = {place: item.value(self, False) for place, item in zip(self.places, self.saved)}
        bias, *results = self.kept
        count = len(values["h"])
        filled = [np.zeros(result.shape, np.float32) if g is None else g.reshape(result.shape) for g, result in zip(gradients, results)]
        x = values["x"].reshape(-1, count, values["x"].shape[1])
        by_x, by_h, by_c, by_ih, by_hh, by_bias = layer_slopes(
            x, values["h"], values["c"], values["w_ih"], values["w_hh"], bias, self.reverse, results, filled
        )
        by_parameter = {"w_ih": by_ih, "w_hh": by_hh, "b_ih": by_bias, "b_hh": by_bias.copy()}
        return {"x": by_x.reshape(values["x"].shape), "h": by_h, "c": by_c, **by_parameter}


def fits(x: TensorBase, batch_sizes: Sequence[int], state: Sequence[TensorBase], weights: Sequence[Any]) -> bool:
    """Return whether oneDNN computes a direction: float32 in host memory, sequences of equal length, no projection, nothing empty."""
    *parameters, w_hr = weights
    if not FOUND or w_hr is not None or not batch_sizes[0] or any(size != batch_sizes[0] for size in batch_sizes):
        return False
    tensors = [x, *state, *(tensor for tensor in parameters if tensor is not None)]
    if any(tensor._ms_dtype is not float32 or 0 in tensor._ms_shape for tensor in tensors) or not in_one_piece(tensors):
        return False
    gates, size = parameters[0]._ms_shape[0], state[0]._ms_shape[-1]
    of_state, of_inputs, of_states = (batch_sizes[0], size), (gates, x._ms_shape[-1]), (gates, size)
    wanted = [of_state, of_state, of_inputs, of_states, *[(gates,)] * (len(tensors) - 5)]
    return gates == 4 * size and len(x._ms_shape) == 2 and [tensor._ms_shape for tensor in tensors[1:]] == wanted


def run(
    x: TensorBase, steps: int, state: Sequence[TensorBase], weights: Sequence[Any], reverse: bool, slow: Slow
) -> tuple[Any, tuple[Any, ...]]:
    """Run all time steps of the rows (steps * N, F); return outputs (steps * N, H) and the last state. ``slow`` takes the tensors by their
    names in ``places``.
    """
    w_ih, w_hh, b_ih, b_hh, _ = weights
    inputs = {"x": x, "w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh, "h": state[0], "c": state[1]}
    inputs = {place: tensor for place, tensor in inputs.items() if tensor is not None}
    followed = modes.grad and any(map(is_tracked, inputs.values()))
    bias = np.zeros(w_ih._ms_shape[0], np.float32) if b_ih is None else array_of(b_ih) + array_of(b_hh)
    rows = array_of(x).reshape(steps, -1, x._ms_shape[1])
    h, c = map(array_of, state)
    y, last, cell, workspace = layer(rows, h, c, array_of(w_ih), array_of(w_hh), bias, reverse, followed)
    if not followed:
        return tensor_of(y.reshape(-1, y.shape[2])), (tensor_of(last), tensor_of(cell))
    # Copies: a program may write to its results, which backward reads.
    results = [tensor_of(array.copy()) for array in (y.reshape(-1, y.shape[2]), last, cell)]
    node: Any = named(_Layer, "MkldnnRnnLayerBackward0")([edge_of(tensor) for tensor in inputs.values()])
    node.kept, node.reverse, node.slow, node.places = (bias, y, last, cell, workspace), reverse, slow, list(inputs)
    node.saved = [saved_input(tensor) for tensor in inputs.values()]
    for number, item in enumerate(results):
        item._ms_node, item._ms_number = node, number
    return results[0], tuple(results[1:])
