"""Recurrent cells and layers with quantized weights and float inputs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ..core.dtype import dtype
from ..ops._dispatch import without_grad
from ..ops.elementwise import activation, elementwise, math
from ..ops.layers.dropout import dropout as drop
from ..ops.shape import join, parts, views
from .layers import by_any
from .packed import ScriptObject, cell_parts

Step = Callable[[Any, Any, Any], Any]


def _lstm_step(gates: Tensor, more: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the next hidden and cell states of an LSTM."""
    entry, forget, cell, out = parts.chunk(elementwise.add(more, gates), 4, 1)
    kept = elementwise.mul(math.sigmoid(forget), state[1])
    now = elementwise.add(kept, elementwise.mul(math.sigmoid(entry), math.tanh(cell)))
    return elementwise.mul(math.sigmoid(out), math.tanh(now)), now


def _gru_step(gates: Tensor, more: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor]:
    """Return the next hidden state of a GRU."""
    ours, theirs = parts.chunk(gates, 3, 1), parts.chunk(more, 3, 1)
    reset = math.sigmoid(elementwise.add(theirs[0], ours[0]))
    share = math.sigmoid(elementwise.add(theirs[1], ours[1]))
    new = math.tanh(elementwise.add(ours[2], elementwise.mul(theirs[2], reset)))
    return (elementwise.add(elementwise.mul(elementwise.sub(state[0], new), share), new),)


def _cell(step: Step) -> Callable[..., Any]:
    def function(
        input: Tensor, hx: Tensor | tuple[Tensor, Tensor], w_ih: ScriptObject, w_hh: ScriptObject, bias_ih: Tensor, bias_hh: Tensor
    ) -> Any:
        state = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        with without_grad():
            found = step(by_any(input, w_ih, True), by_any(state[0], w_hh, True), state)
        return found if len(found) > 1 else found[0]

    return function


def _plain(function: Callable[[Any], Any]) -> Step:
    return lambda gates, more, state: (function(elementwise.add(more, gates)),)


CELLS: dict[str, Callable[..., Any]] = {
    "quantized_lstm_cell_dynamic": _cell(_lstm_step), "quantized_gru_cell_dynamic": _cell(_gru_step),
    "quantized_rnn_tanh_cell_dynamic": _cell(_plain(math.tanh)), "quantized_rnn_relu_cell_dynamic": _cell(_plain(activation.relu)),
}  # fmt: skip


def _run_direction(
    gates: Tensor, packed: ScriptObject, reduce_range: bool, states: tuple[Tensor, ...], step: Step, sizes: list[int], backward: bool
) -> tuple[Any, Any]:
    """Run one direction of a layer over the gates of all time steps; ``sizes`` are the batch sizes per step."""
    offsets = [sum(sizes[:number]) for number in range(len(sizes))]
    order = range(len(sizes) - 1, -1, -1) if backward else range(len(sizes))
    found: dict[int, Any] = {}
    count = sizes[-1] if backward else sizes[0]
    current = tuple(views.narrow(part, 0, 0, count) for part in states)
    ended: list[Any] = []
    for number in order:
        size = sizes[number]
        if size > count:  # in the backward direction, sequences that end here begin
            current = tuple(join.cat([part, views.narrow(whole, 0, count, size - count)]) for part, whole in zip(current, states))
        elif size < count:
            ended.append(tuple(views.narrow(part, 0, size, count - size) for part in current))
            current = tuple(views.narrow(part, 0, 0, size) for part in current)
        count = size
        current = step(views.narrow(gates, 0, offsets[number], size), by_any(current[0], packed, reduce_range), current)
        found[number] = current[0]
    last = current
    if ended:
        last = tuple(join.cat([part, *(before[place] for before in reversed(ended))]) for place, part in enumerate(current))
    return join.cat([found[number] for number in range(len(sizes))]), last


def _layers(
    rows: Tensor, sizes: list[int], states: tuple[Tensor, ...], params: Sequence[ScriptObject], step: Step, num_layers: int,
    dropout: float, train: bool,
    bidirectional: bool
) -> tuple[Any, Any]:  # fmt: skip
    ways = 2 if bidirectional else 1
    ends: list[Any] = []
    with without_grad():
        for layer in range(num_layers):
            outs = []
            for way in range(ways):
                number = layer * ways + way
                w_ih, w_hh, reduce_range = cell_parts(params[number])
                start = tuple(views.select(part, 0, number) for part in states)
                out, end = _run_direction(by_any(rows, w_ih, reduce_range), w_hh, reduce_range, start, step, sizes, way == 1)
                outs.append(out)
                ends.append(end)
            rows = outs[0] if ways == 1 else join.cat(outs, 1)
            if dropout and train and layer < num_layers - 1:
                rows = drop(rows, dropout, True)
    return rows, [join.stack([end[place] for end in ends]) for place in range(len(states))]


def _layer(step: Step, two: bool) -> Callable[..., Any]:
    def function(*given: Any, dtype: dtype | None = None, use_dynamic: bool = False) -> Any:
        packed = len(given[1]._ms_shape) == 1 if not isinstance(given[1], (tuple, list)) else False
        if packed:
            data, batch_sizes, hx, params, _, num_layers, dropout, train, bidirectional = given
            sizes, rows, batch_first = [int(size) for size in batch_sizes.tolist()], data, False
        else:
            data, hx, params, _, num_layers, dropout, train, bidirectional, batch_first = given
            data = views.transpose(data, 0, 1) if batch_first else data
            steps, batch, width = data._ms_shape
            sizes, rows = [batch] * steps, views.reshape(data, (steps * batch, width))
        states = tuple(hx) if two else (hx,)
        out, ends = _layers(rows, sizes, states, params, step, num_layers, dropout, train, bidirectional)
        if not packed:
            out = views.reshape(out, (len(sizes), sizes[0], -1))
            out = views.transpose(out, 0, 1) if batch_first else out
        return (out, *ends)

    return function


quantized_lstm, quantized_gru = _layer(_lstm_step, True), _layer(_gru_step, False)
