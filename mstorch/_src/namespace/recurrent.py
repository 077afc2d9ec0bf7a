"""Recurrent layers and cells as functions of their weights, and embedding_bag."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..core.dtype import int64
from ..core.one_device import OneDevice
from ..core.tensor_base import array_of
from ..ops._operation import operation
from ..ops.layers import embedding, rnn
from ..ops.linalg.matmul import linear
from ..ops.memory.creation import zeros
from ..ops.memory.from_data import made
from ..ops.shape import views


def _layers(params: Sequence[Any], has_biases: bool, layers: int, directions: int, projects: bool) -> list[tuple[Any, ...]]:
    """Return for each layer and direction the tuple (w_ih, w_hh, b_ih, b_hh, w_hr) from the flat list of weights, with None for missing
    ones."""
    size = (4 if has_biases else 2) + projects
    if len(params) < size * layers * directions:
        raise RuntimeError("Expected more weights in stacked_rnn")
    groups = []
    for i in range(layers * directions):
        group = list(params[i * size : (i + 1) * size])
        w_hr = group.pop() if projects else None
        groups.append((group[0], group[1], *(group[2:4] if has_biases else (None, None)), w_hr))
    return groups


def _run(mode: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Run a recurrent layer with torch's arguments: an input tensor, or packed data and batch sizes."""
    packed = not isinstance(args[3], bool) and len(args) == 9 and isinstance(args[4], bool)
    if packed:
        data, batch_sizes, hx, params, has_biases, layers, dropout, train, bidirectional = args
        sizes, batch_first = [int(n) for n in batch_sizes.tolist()], False
    else:
        data, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first = args
        if batch_first:
            data = views.transpose(data, 0, 1)
        length, batch = data._ms_shape[:2]
        sizes, data = [batch] * length, views.reshape(data, (length * batch, -1))
    state = tuple(hx) if mode == "LSTM" else (hx,)
    projects = mode == "LSTM" and state[0]._ms_shape[2] != state[1]._ms_shape[2]
    weights = _layers(params, has_biases, layers, 2 if bidirectional else 1, projects)
    output, last = rnn.run(mode, data, sizes, state, weights, layers, bidirectional, dropout, train)
    if not packed:
        output = views.reshape(output, (len(sizes), sizes[0], -1))
        output = views.transpose(output, 0, 1) if batch_first else output
    return output, last


_WHOLE = "input hx params has_biases num_layers dropout train bidirectional batch_first".split()
_PACKED = "data batch_sizes hx params has_biases num_layers dropout train bidirectional".split()


def _ordered(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of a layer in positional order, for either form."""
    order = _PACKED if "data" in named or "batch_sizes" in named else _WHOLE
    return (*args, *(named[name] for name in order[len(args) :])) if named else args


def lstm(*args: Any, **named: Any) -> tuple[Any, Any, Any]:
    """Run an LSTM: ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` → output, h, c.

    Packed: ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.
    """
    output, (h, c) = _run("LSTM", _ordered(args, named))
    return output, h, c


def gru(*args: Any, **named: Any) -> tuple[Any, Any]:
    """Run a GRU: ``gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` → output, h."""
    output, (h,) = _run("GRU", _ordered(args, named))
    return output, h


def rnn_tanh(*args: Any, **named: Any) -> tuple[Any, Any]:
    """Run an RNN: ``rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` → output, h."""
    output, (h,) = _run("RNN_TANH", _ordered(args, named))
    return output, h


def rnn_relu(*args: Any, **named: Any) -> tuple[Any, Any]:
    """Run an RNN: ``rnn_relu(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` → output, h."""
    output, (h,) = _run("RNN_RELU", _ordered(args, named))
    return output, h


def _cell(
    mode: str, input: Tensor, state: tuple[Any, ...], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> tuple[Any, ...]:
    if input._ms_shape[1] != w_ih._ms_shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input._ms_shape[1]} expected {w_ih._ms_shape[1]}")
    for number, part in enumerate(state):
        if part._ms_shape[1] != w_hh._ms_shape[1]:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {part._ms_shape[1]}, expected {w_hh._ms_shape[1]}"
            )
    return rnn.step(mode, linear(input, w_ih, b_ih), state, w_hh, b_hh)


def lstm_cell(input: Tensor, hx: Sequence[Any], w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """Run one step of an LSTM: input (N, I), states (N, H) → the next h and c."""
    h, c = _cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return h, c


def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> Tensor:
    """Run one step of a GRU: (N, I), (N, H) → (N, H)."""
    return _cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Run one step of an Elman RNN with tanh: (N, I), (N, H) → (N, H)."""
    return _cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Tensor | None = None) -> Tensor:
    """Run one step of an Elman RNN with ReLU: (N, I), (N, H) → (N, H)."""
    return _cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@operation(one_device=OneDevice("__embedding_bag_forward_only"))
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor | None, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return sums (mode 0), means (1) or maxima (2) of rows for bags of indices, and three tensors for backward.

    These are the bag of each index, the size of each bag and the index of each maximum; as in torch they are empty or zero for sums.
    """
    words = ("sum", "mean", "max")
    if len(indices._ms_shape) == 2:
        indices = indices.reshape(-1)
    count = indices._ms_shape[0]
    starts = np.zeros(1)
    if len(indices._ms_shape) == 1:
        starts = embedding.bag_starts(offsets, count, weight, words[mode], include_last_offset, padding_idx)
    result = embedding.bag(weight, indices, starts, words[mode], scale_grad_by_freq, per_sample_weights, padding_idx, sparse)
    bags = len(starts) - 1
    if mode == 0:
        return result, zeros(0, dtype=int64), zeros(bags, dtype=int64), zeros(bags, dtype=int64)
    used = array_of(indices)
    kept = np.ones(count, bool) if padding_idx is None else used != padding_idx
    bag_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    sizes = np.bincount(bag_of[kept], minlength=bags).astype(np.int64)
    if mode == 1:
        return result, made(bag_of.astype(np.int64)), made(sizes), made(sizes.copy())
    width = weight._ms_shape[1]
    best = np.zeros((bags, width), np.int64)
    rows = array_of(weight)
    for bag in range(len(starts) - 1):
        mine = used[(bag_of == bag) & kept]
        if mine.size:
            best[bag] = mine[rows[mine].argmax(0)]
    return result, made(bag_of.astype(np.int64)), made(sizes), made(best)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Renormalize the rows of ``input`` at ``indices`` to at most ``max_norm`` in place; return ``input``."""
    embedding.renorm_rows_(input, indices, max_norm, norm_type)
    return input
