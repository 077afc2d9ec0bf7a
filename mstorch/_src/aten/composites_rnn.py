"""Recurrent layers and cells, decomposed into the steps of each layer and direction."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ...nn import functional
from .calling import NotInTerms
from .composites import aten, composite

State = tuple[Any, ...]
Cell = Callable[[Any, Any, State], State]


def _lstm_cell(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    entering, kept, new, shown = (from_input + from_hidden).chunk(4, 1)
    cell = kept.sigmoid() * state[1] + entering.sigmoid() * new.tanh()
    return shown.sigmoid() * cell.tanh(), cell


def _gru_cell(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    (reset, update, new), (reset_h, update_h, new_h) = from_input.chunk(3, 1), from_hidden.chunk(3, 1)
    found = (new + (reset + reset_h).sigmoid() * new_h).tanh()
    return ((state[0] - found) * (update + update_h).sigmoid() + found,)


def _rnn_tanh_cell(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    return ((from_input + from_hidden).tanh(),)


def _rnn_relu_cell(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    return ((from_input + from_hidden).relu(),)


_CELLS: dict[str, Cell] = {"lstm": _lstm_cell, "gru": _gru_cell, "rnn_tanh": _rnn_tanh_cell, "rnn_relu": _rnn_relu_cell}


def _direction(cell: Cell, x: Tensor, state: State, weights: Sequence[Any], backwards: bool) -> tuple[Any, State]:
    """Run one direction of one layer over (T, N, F); return the outputs (T, N, H) and the last state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    gates = functional.linear(x, w_ih, b_ih).unbind(0)
    outputs: list[Any] = []
    for step in reversed(gates) if backwards else gates:
        state = cell(step, functional.linear(state[0], w_hh, b_hh), state)
        if w_hr is not None:
            state = (functional.linear(state[0], w_hr), *state[1:])
        outputs.append(state[0])
    return aten("stack", outputs[::-1] if backwards else outputs), state


def _weights(params: Sequence[Any], directions: int, has_biases: bool) -> list[tuple[Any, ...]]:
    """Return w_ih, w_hh, b_ih, b_hh, w_hr for each layer and direction, with None for missing ones."""
    size = len(params) // directions
    found = []
    for start in range(0, len(params), size):
        w_ih, w_hh, *rest = params[start : start + size]
        b_ih, b_hh = (rest.pop(0), rest.pop(0)) if has_biases else (None, None)
        found.append((w_ih, w_hh, b_ih, b_hh, rest[0] if rest else None))
    return found


def _layers(name: str) -> None:
    @composite(name)
    def run(
        input: Tensor, hx: Any, params: list[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
        batch_first: bool
    ) -> Any:
        if not isinstance(has_biases, bool):
            raise NotInTerms(f"mstorch: torch.{name} of packed sequences is not known in the terms of torch.ops.aten")
        states = tuple(part.unbind(0) for part in (hx if name == "lstm" else (hx,)))
        directions = 2 if bidirectional else 1
        weights = _weights(params, num_layers * directions, has_biases)
        x, lasts = input.transpose(0, 1) if batch_first else input, []
        for layer in range(num_layers):
            outputs = []
            for direction in range(directions):
                place = layer * directions + direction
                found, last = _direction(_CELLS[name], x, tuple(part[place] for part in states), weights[place], direction == 1)
                outputs.append(found)
                lasts.append(last)
            x = outputs[0] if directions == 1 else aten("cat", outputs, -1)
            if dropout and train and layer < num_layers - 1:
                x = functional.dropout(x, dropout)
        return (x.transpose(0, 1) if batch_first else x, *(aten("stack", [last[i] for last in lasts]) for i in range(len(states))))


def _step(name: str) -> None:
    @composite(f"{name}_cell")
    def run(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        state = tuple(hx) if name == "lstm" else (hx,)
        found = _CELLS[name](functional.linear(input, w_ih, b_ih), functional.linear(state[0], w_hh, b_hh), state)
        return found if name == "lstm" else found[0]


for _name in _CELLS:
    _layers(_name)
    _step(_name)
