"""Recurrent layers: time steps, layers, directions, packed sequences."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...backend.table import Kernel, kernel
from ...core.promotion import promote_types
from ...core.tensor_base import TensorBase
from .. import _autocast
from .._dispatch import call
from ..elementwise.activation import relu
from ..elementwise.elementwise import add
from ..elementwise.math import tanh
from ..linalg.matmul import linear
from ..shape import views
from ..shape.join import cat, stack
from ..shape.parts import split
from . import lstm_layer, rnn_sequence
from .dropout import dropout

_lstm_cell = kernel("lstm_cell")
_gru_cell = kernel("gru_cell")

State = tuple[Any, ...]


def step(mode: str, gates: TensorBase, state: State, w_hh: TensorBase, b_hh: TensorBase | None, w_hr: Any = None) -> State:
    """Return the next state from the input's contribution to the gates and the previous state."""
    hidden = state[0]
    tensors = [gates, *state, w_hh, *([] if b_hh is None else [b_hh])]
    if len(hidden._ms_shape) == 2 and hidden._ms_shape[0] and rnn_sequence.fits(mode, (hidden._ms_shape[0],), tensors, w_hr):
        following = rnn_sequence.next_state(mode, gates, state, w_hh, b_hh)
        if following is not None:
            return following

        def slow(gates: TensorBase, h: TensorBase, w: TensorBase, c: TensorBase | None = None, b: Any = None) -> tuple[Any, State]:
            made = _single(mode, gates, (h,) if c is None else (h, c), w, b)
            return made[0], made

        return rnn_sequence.run(mode, gates, 1, state, w_hh, b_hh, False, slow)[1]
    return _single(mode, gates, state, w_hh, b_hh, w_hr)


def _single(mode: str, gates: TensorBase, state: State, w_hh: TensorBase, b_hh: TensorBase | None, w_hr: TensorBase | None = None) -> State:
    """Compute the next state by separate operations."""
    hidden = state[0]
    if mode == "LSTM":
        h, c = _fused(_lstm_cell, add(gates, linear(hidden, w_hh, b_hh)), state[1])
        return (h if w_hr is None else linear(h, w_hr)), c
    if mode == "GRU":
        return (_fused(_gru_cell, gates, linear(hidden, w_hh, b_hh), hidden),)
    total = add(gates, linear(hidden, w_hh, b_hh))
    return ((tanh if mode == "RNN_TANH" else relu)(total),)


def _fused(cell: Kernel, *tensors: TensorBase) -> Any:
    """Run the kernel in the widest dtype of its arguments: under autocast the gates' dtype may differ from the state's."""
    return call(cell, tensors, dtype=functools.reduce(promote_types, (tensor._ms_dtype for tensor in tensors)))


def _rows(state: State, start: int, count: int) -> State:
    return tuple(views.narrow(part, 0, start, count) for part in state)


def _direction(
    mode: str, x: TensorBase, batch_sizes: Sequence[int], state: State, weights: Sequence[Any], backwards: bool
) -> tuple[Any, State]:
    """Run one direction of one layer over packed rows (sum of batch_sizes, F); return outputs (sum, H) and the last state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if mode == "LSTM" and lstm_layer.fits(x, batch_sizes, state, weights):

        def composed(
            x: TensorBase, w_ih: TensorBase, w_hh: TensorBase, h: TensorBase, c: TensorBase, b_ih: Any = None, b_hh: Any = None
        ) -> Any:
            return _steps(mode, linear(x, w_ih, b_ih), batch_sizes, (h, c), w_hh, b_hh, None, backwards)

        return lstm_layer.run(x, len(batch_sizes), state, weights, backwards, composed)
    gates = linear(x, w_ih, b_ih)
    tensors = [gates, *state, w_hh, *([] if b_hh is None else [b_hh])]
    if rnn_sequence.fits(mode, batch_sizes, tensors, w_hr):

        def slow(
            gates: TensorBase, h: TensorBase, w: TensorBase, c: TensorBase | None = None, b: TensorBase | None = None
        ) -> tuple[Any, State]:
            return _steps(mode, gates, batch_sizes, (h,) if c is None else (h, c), w, b, None, backwards)

        return rnn_sequence.run(mode, gates, len(batch_sizes), state, w_hh, b_hh, backwards, slow)
    return _steps(mode, gates, batch_sizes, state, w_hh, b_hh, w_hr, backwards)


def _steps(
    mode: str, gates: TensorBase, batch_sizes: Sequence[int], state: State, w_hh: TensorBase, b_hh: TensorBase | None,
    w_hr: TensorBase | None, backwards: bool
) -> tuple[Any, State]:
    """Run one direction by separate operations, from the input's contribution to the gates."""
    parts = split(gates, list(batch_sizes), 0)
    outputs: list[Any] = [None] * len(parts)
    initial = state
    done: list[State] = []
    size = batch_sizes[-1] if backwards else batch_sizes[0]
    state = _rows(initial, 0, size) if size != initial[0]._ms_shape[0] else initial
    order = range(len(parts) - 1, -1, -1) if backwards else range(len(parts))
    for t in order:
        wanted = batch_sizes[t]
        if wanted > size:
            state = tuple(cat([part, more]) for part, more in zip(state, _rows(initial, size, wanted - size)))
        elif wanted < size:
            done.append(_rows(state, wanted, size - wanted))
            state = _rows(state, 0, wanted)
        size = wanted
        state = _single(mode, parts[t], state, w_hh, b_hh, w_hr)
        outputs[t] = state[0]
    if done:
        state = tuple(cat([part, *(rows[i] for rows in reversed(done))]) for i, part in enumerate(state))
    return cat(outputs), state


def run(
    mode: str, x: TensorBase, batch_sizes: Sequence[int], state: State, weights: Sequence[Sequence[Any]], layers: int,
    bidirectional: bool, drop: float, training: bool,
) -> tuple[Any, State]:  # fmt: skip
    """Run all layers over packed rows; ``state`` and the returned state hold (layers * directions, N, H) tensors."""
    if _autocast.state.on and mode == "LSTM":  # torch has a fused kernel for it, and casts its arguments
        return _autocast.lowered(run, mode, x, batch_sizes, state, weights, layers, bidirectional, drop, training)
    directions = 2 if bidirectional else 1
    lasts: list[State] = []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            own = tuple(views.select(part, 0, place) for part in state)
            output, last = _direction(mode, x, batch_sizes, own, weights[place], direction == 1)
            outputs.append(output)
            lasts.append(last)
        x = outputs[0] if directions == 1 else cat(outputs, 1)
        if drop and layer < layers - 1:
            x = dropout(x, drop, training)
    return x, tuple(stack([last[i] for last in lasts]) for i in range(len(state)))
