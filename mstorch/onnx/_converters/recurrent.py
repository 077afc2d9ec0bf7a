"""LSTM, GRU and RNN layers: a node per layer, with torch's weights in ONNX's gate order."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from .._capture import Step, Value
from .._errors import OnnxExporterError
from .._writer import Writer, array
from .table import converter

_GATES = {"lstm": [0, 3, 1, 2], "gru": [1, 0, 2], "rnn_tanh": [0], "rnn_relu": [0]}
"""Position of each of ONNX's gates among torch's: i o f c from i f g o, z r h from r z n."""


def _ordered(value: Value, gates: Sequence[int]) -> Array:
    if value.array is None:
        raise OnnxExporterError("mstorch: torch.onnx.export takes recurrent layers whose weights are parameters")
    parts = np.split(array(value.array), len(gates))
    return np.concatenate([parts[gate] for gate in gates])


def _zero(value: Value) -> bool:
    """Return whether an initial state is zero, ONNX's default."""
    return value.array is not None and not array(value.array).any() or (value.step is not None and value.step.name == "zeros")


def _weights(w: Writer, step: Step, params: Sequence[Value], biases: bool) -> list[str]:
    """Return the names of W, R and B of one layer, with all directions stacked."""
    each = 4 if biases else 2
    gates = _GATES[step.name]
    directions = [params[i : i + each] for i in range(0, len(params), each)]
    inputs = np.stack([_ordered(one[0], gates) for one in directions])
    states = np.stack([_ordered(one[1], gates) for one in directions])
    found = [w.const(inputs), w.const(states)]
    if biases:
        found.append(w.const(np.stack([np.concatenate([_ordered(one[2], gates), _ordered(one[3], gates)]) for one in directions])))
    return [*found, *[""] * (3 - len(found))]


@converter("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent(
    w: Writer, step: Step, self: Value, hx: Any, params: Sequence[Value], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> list[str]:  # fmt: skip
    """Convert a recurrent network: (T, N, I) → (T, N, directions × H) and the last states (layers × directions, N, H)."""
    if not isinstance(hx, (list, tuple, Value)) or len(self.shape) != 3:
        raise OnnxExporterError("mstorch: torch.onnx.export takes recurrent layers of padded sequences, of three dimensions")
    starts = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    kind = step.name.partition("_")[0].upper()
    count = 2 if bidirectional else 1
    each = len(params) // num_layers
    if each != count * (4 if has_biases else 2):
        raise OnnxExporterError("mstorch: torch.onnx.export takes recurrent layers without projections (proj_size), which ONNX has not")
    attributes: dict[str, Any] = {"hidden_size": starts[0].shape[-1], "direction": "bidirectional" if bidirectional else "forward"}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    if step.name == "rnn_relu":
        attributes["activations"] = ["Relu"] * count
    x = w.op("Transpose", w.t(self), perm=[1, 0, 2]) if batch_first else w.t(self)
    last: list[list[str]] = [[] for _ in starts]
    for layer in range(num_layers):
        rows = (w.ints([layer * count]), w.ints([(layer + 1) * count]), w.ints([0]))
        begun = [] if all(_zero(start) for start in starts) else [w.op("Slice", w.t(start), *rows) for start in starts]
        weights = _weights(w, step, params[layer * each : (layer + 1) * each], has_biases)
        found = w.op(kind, x, *weights, "", *begun, results=1 + len(starts), **attributes)
        joined = w.op("Transpose", found[0], perm=[0, 2, 1, 3])
        x = w.op("Reshape", joined, w.ints([0, 0, -1]))
        for states, one in zip(last, found[1:]):
            states.append(one)
    out = w.op("Transpose", x, perm=[1, 0, 2]) if batch_first else x
    return [out, *(w.op("Concat", *states, axis=0) if len(states) > 1 else states[0] for states in last)]
