"""Recurrent layers over a whole sequence on the host: one matrix product per step, elementwise work in place.

``gates`` is the input's contribution to the gates (steps, N, gates * H); it is modified. Each forward function returns the hidden states
(steps + 1, N, H), the last cell state if the layer has one, and the values saved for backward.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...quiet import silent
from ..arrays import Array
from ..table import define_host
from ._ufunc import FLOATS, HALF, number
from .math import numpy_sigmoid
from .matmul import product

Saved = tuple[Any, ...]


def _lstm_gates_(part: Array, size: int) -> None:
    """Apply sigmoid to the gates of a step, and tanh to the third, in place."""
    fresh = np.tanh(part[:, 2 * size : 3 * size])
    part[...] = numpy_sigmoid(part)
    part[:, 2 * size : 3 * size] = fresh


def _sigmoid_(x: Array) -> None:
    np.negative(x, out=x)
    silent.exp(x, out=x)
    np.add(x, number(1, x), out=x)
    silent.reciprocal(x, out=x)


def _turned(w: Array, steps: int) -> Array:
    """Return the transpose of a weight, for several steps as rows: products with it take a fifth to two thirds less time."""
    return np.ascontiguousarray(w.T) if steps > 2 else w.T


def lstm_forward(gates: Array, h: Array, c: Array, w: Array, b: Array | None) -> tuple[Array, Array, Saved]:
    """Run an LSTM over all steps; gates are ordered input, forget, cell, output."""
    steps, rows, size = gates.shape[0], gates.shape[1], h.shape[1]
    hs, cs = np.empty((steps + 1, rows, size), h.dtype), np.empty((steps + 1, rows, size), h.dtype)
    bounded = np.empty((steps, rows, size), h.dtype)
    hs[0], cs[0] = h, c
    if b is not None:
        gates += b
    turned = _turned(w, steps)
    for k in range(steps):
        part = gates[k]
        product(hs[k], turned, part)
        _lstm_gates_(part, size)
        np.multiply(part[:, size : 2 * size], cs[k], out=cs[k + 1])
        cs[k + 1] += part[:, :size] * part[:, 2 * size : 3 * size]
        np.tanh(cs[k + 1], out=bounded[k])
        np.multiply(part[:, 3 * size :], bounded[k], out=hs[k + 1])
    return hs, cs[steps], (gates, hs, cs, bounded)


def lstm_backward(g: Array, dh: Array, dc: Array, w: Array, saved: Saved) -> tuple[Array, ...]:
    """Return the gradients of the input's and of the hidden state's contribution to the gates, which are the same array (steps, N, 4H), and
    of the initial hidden and cell state.

    ``g`` is the gradient of the hidden states (steps, N, H), ``dh`` and ``dc`` those of the last hidden and cell state."""
    gates, _, cs, bounded = saved
    steps, rows, size = bounded.shape
    one = number(1, gates)
    i, f, n, o = (gates[..., j * size : (j + 1) * size] for j in range(4))
    # The factors of the gradients of the cell and of the state, for all steps at once.
    by_cell = np.empty((steps, rows, 3, size), gates.dtype)
    np.multiply(n, i * (one - i), out=by_cell[:, :, 0])
    np.multiply(cs[:-1], f * (one - f), out=by_cell[:, :, 1])
    np.multiply(i, one - n * n, out=by_cell[:, :, 2])
    to_cell = o * (one - bounded * bounded)
    to_output = bounded * o * (one - o)
    by_gates = np.empty_like(gates)
    parts = by_gates.reshape(steps, rows, 4, size)
    dc = dc.copy()
    for k in range(steps - 1, -1, -1):
        dh = dh + g[k]
        dc += dh * to_cell[k]
        np.multiply(dh, to_output[k], out=parts[k, :, 3])
        np.multiply(dc[:, None], by_cell[k], out=parts[k, :, :3])
        dc *= f[k]
        dh = product(by_gates[k], w)
    return by_gates, by_gates, dh, dc


def gru_forward(gates: Array, h: Array, c: Any, w: Array, b: Array | None) -> tuple[Array, None, Saved]:
    """Run a GRU over all steps; gates are ordered reset, update, new."""
    steps, rows, size = gates.shape[0], gates.shape[1], h.shape[1]
    hs, kept = np.empty((steps + 1, rows, size), h.dtype), np.empty((steps, rows, size), h.dtype)
    hs[0] = h
    turned = _turned(w, steps)
    for k in range(steps):
        part, before = gates[k], hs[k]
        inner = product(before, turned)
        if b is not None:
            inner += b
        part[:, : 2 * size] += inner[:, : 2 * size]
        _sigmoid_(part[:, : 2 * size])
        kept[k] = inner[:, 2 * size :]
        new = part[:, 2 * size :]
        new += part[:, :size] * kept[k]
        np.tanh(new, out=new)
        np.subtract(before, new, out=hs[k + 1])
        hs[k + 1] *= part[:, size : 2 * size]
        hs[k + 1] += new
    return hs, None, (gates, hs, kept)


def gru_backward(g: Array, dh: Array, dc: Array, w: Array, saved: Saved) -> tuple[Any, ...]:
    """Return the gradients of the input's and of the hidden state's contribution to the gates (steps, N, 3H), of the initial hidden state,
    and None.

    ``g`` is the gradient of the hidden states (steps, N, H), ``dh`` that of the last one; ``dc`` is unused."""
    gates, hs, kept = saved
    steps, size = gates.shape[0], dh.shape[1]
    by_gates, by_hidden = np.empty_like(gates), np.empty_like(gates)
    one = number(1, gates)
    for k in range(steps - 1, -1, -1):
        dh = dh + g[k]
        r, z, n = (gates[k][:, j * size : (j + 1) * size] for j in range(3))
        out, inner = by_gates[k], by_hidden[k]
        by_new = dh * (one - z) * (one - n * n)
        out[:, 2 * size :] = by_new
        out[:, size : 2 * size] = dh * (hs[k] - n) * z * (one - z)
        out[:, :size] = by_new * kept[k] * r * (one - r)
        inner[:, : 2 * size] = out[:, : 2 * size]
        np.multiply(by_new, r, out=inner[:, 2 * size :])
        dh = dh * z + product(inner, w)
    return by_gates, by_hidden, dh, None


def _plain(activate: Callable[..., Any], slope: Callable[..., Any]) -> tuple[Any, Any]:
    def forward(gates: Array, h: Array, c: Any, w: Array, b: Array | None) -> tuple[Array, None, Saved]:
        hs = np.empty((gates.shape[0] + 1, *h.shape), h.dtype)
        hs[0] = h
        if b is not None:
            gates += b
        turned = _turned(w, gates.shape[0])
        for k in range(gates.shape[0]):
            product(hs[k], turned, gates[k])
            activate(gates[k], out=hs[k + 1])
        return hs, None, (hs,)

    def backward(g: Array, dh: Array, dc: Array, w: Array, saved: Saved) -> tuple[Any, ...]:
        (hs,) = saved
        by_gates = np.empty_like(g)
        for k in range(g.shape[0] - 1, -1, -1):
            by_gates[k] = (dh + g[k]) * slope(hs[k + 1])
            dh = product(by_gates[k], w)
        return by_gates, by_gates, dh, None

    return forward, backward


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, number(0, x), out=out)


SEQUENCES: dict[str, tuple[Any, Any]] = {
    "LSTM": (lstm_forward, lstm_backward),
    "GRU": (gru_forward, gru_backward),
    "RNN_TANH": _plain(np.tanh, lambda y: number(1, y) - y * y),
    "RNN_RELU": _plain(_relu, lambda y: (y > 0).astype(y.dtype)),
}


def lstm_next(gates: Array, h: Array, c: Array, w: Array, b: Array | None) -> tuple[Array, ...]:
    """Return the states after one step of an LSTM, without what backward needs."""
    size = h.shape[1]
    part = product(h, w.T)
    part += gates
    if b is not None:
        part += b
    opened, cell = numpy_sigmoid(part), np.tanh(part[:, 2 * size : 3 * size])
    cell *= opened[:, :size]
    cell += opened[:, size : 2 * size] * c
    found = np.tanh(cell)
    found *= opened[:, 3 * size :]
    return found, cell


def gru_next(gates: Array, h: Array, c: Any, w: Array, b: Array | None) -> tuple[Array, ...]:
    """Return the state after one step of a GRU, without what backward needs."""
    size = h.shape[1]
    inner = product(h, w.T)
    if b is not None:
        inner += b
    opened = numpy_sigmoid(gates[:, : 2 * size] + inner[:, : 2 * size])
    new = inner[:, 2 * size :]
    new *= opened[:, :size]
    new += gates[:, 2 * size :]
    new = np.tanh(new)
    found = h - new
    found *= opened[:, size:]
    found += new
    return (found,)


NEXT: dict[str, Callable[..., tuple[Array, ...]]] = {"LSTM": lstm_next, "GRU": gru_next}


def numpy_lstm_cell(gates: Array, cell: Array) -> tuple[Array, Array]:
    """Run an LSTM cell: gates (N, 4H) ordered input, forget, cell, output, and the cell state (N, H) → the next hidden and cell state."""
    size = cell.shape[-1]
    part = np.array(gates)
    _sigmoid_(part[..., : 2 * size])
    _sigmoid_(part[..., 3 * size :])
    found = np.tanh(part[..., 2 * size : 3 * size])
    found *= part[..., :size]
    found += part[..., size : 2 * size] * cell
    return part[..., 3 * size :] * np.tanh(found), found


def numpy_gru_cell(from_input: Array, from_hidden: Array, hidden: Array) -> Array:
    """Run a GRU cell: gates (N, 3H) ordered reset, update, new, and the hidden state (N, H) → the next hidden state."""
    size = hidden.shape[-1]
    part = from_input[..., : 2 * size] + from_hidden[..., : 2 * size]
    _sigmoid_(part)
    new = part[..., :size] * from_hidden[..., 2 * size :]
    new += from_input[..., 2 * size :]
    np.tanh(new, out=new)
    return np.asarray(new + part[..., size:] * (hidden - new))


define_host("lstm_cell", numpy_lstm_cell, FLOATS, HALF)
define_host("gru_cell", numpy_gru_cell, FLOATS, HALF)
