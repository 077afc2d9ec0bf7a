"""Gradients of a step of an LSTM and of a GRU."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import vocabulary as v
from ..apply import rule


def _split(value: Any, count: int) -> list[Any]:
    """Parts of one width along the last dimension."""
    shape = v.shape_of(value)
    width = shape[-1] // count
    parts = [slice(i * width, (i + 1) * width) for i in range(count)]
    return [v.mapped(value, _taking(where), _placing(shape, where), "SplitBackward0") for where in parts]


def _joined(values: list[Any]) -> Any:
    """The parts side by side again."""
    if values[0].__class__ is np.ndarray:
        return np.concatenate(values, -1)
    width = v.shape_of(values[0])[-1]
    shape = (*v.shape_of(values[0])[:-1], width * len(values))
    total = None
    for i, value in enumerate(values):
        where = slice(i * width, (i + 1) * width)
        placed = v.mapped(value, _placing(shape, where), _taking(where), "CatBackward0")
        total = placed if total is None else v.add(total, placed)
    return total


def _taking(where: slice) -> Any:
    return lambda array: array[..., where]


def _placing(shape: tuple[int, ...], where: slice) -> Any:
    def placed(array: np.ndarray) -> np.ndarray:
        whole = np.zeros(shape, array.dtype)
        whole[..., where] = array
        return whole

    return placed


def _rest(y: Any) -> Any:
    return v.plus(v.neg(y), 1)


def _by_sigmoid(g: Any, y: Any) -> Any:
    return v.mul(g, v.mul(y, _rest(y)))


def _by_tanh(g: Any, y: Any) -> Any:
    return v.mul(g, _rest(v.mul(y, y)))


@rule("lstm_cell", keep=(0, 1, "result1"), label="ThnnFusedLstmCellBackward0")
def lstm_cell(node: Any, gradients: Any) -> Any:
    by_hidden, by_cell = gradients
    g = by_cell if by_hidden is None else by_hidden
    gates, before, after = (node.kept(g, place) for place in range(3))
    into, keep, new, out = _split(gates, 4)
    into, keep, new, out = v.sigmoid(into), v.sigmoid(keep), v.tanh(new), v.sigmoid(out)
    bounded = v.tanh(after)
    by_out = v.times(bounded, 0)
    if by_hidden is not None:
        through = _by_tanh(v.mul(by_hidden, out), bounded)
        by_cell = through if by_cell is None else v.add(by_cell, through)
        by_out = _by_sigmoid(v.mul(by_hidden, bounded), out)
    by_gates = _joined([
        _by_sigmoid(v.mul(by_cell, new), into), _by_sigmoid(v.mul(by_cell, before), keep), _by_tanh(v.mul(by_cell, into), new), by_out,
    ])  # fmt: skip
    return by_gates, v.mul(by_cell, keep)


@rule("gru_cell", keep=(0, 1, 2), label="ThnnFusedGruCellBackward0")
def gru_cell(node: Any, g: Any) -> Any:
    hidden = node.kept(g, 2)
    (xr, xz, xn), (hr, hz, hn) = _split(node.kept(g, 0), 3), _split(node.kept(g, 1), 3)
    reset, update = v.sigmoid(v.add(xr, hr)), v.sigmoid(v.add(xz, hz))
    new = v.tanh(v.add(xn, v.mul(reset, hn)))
    by_new = _by_tanh(v.mul(g, _rest(update)), new)
    by_update = _by_sigmoid(v.mul(g, v.sub(hidden, new)), update)
    by_reset = _by_sigmoid(v.mul(by_new, hn), reset)
    return _joined([by_reset, by_update, by_new]), _joined([by_reset, by_update, v.mul(by_new, reset)]), v.mul(g, update)
