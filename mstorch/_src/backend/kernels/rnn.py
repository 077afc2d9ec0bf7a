"""The elementwise part of LSTM and GRU cells."""
from __future__ import annotations

from mindspore import ops

from ..raw import Raw
from ..table import FLOATS, VIA_HALF, define
from .namespace import sigmoid, tanh

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()
_split3 = ops.Split(1, 3)
_split4 = ops.Split(1, 4)


def composed_lstm_cell(gates: Raw, cell: Raw) -> tuple[Raw, Raw]:
    """Run an LSTM cell: gates (N, 4H) ordered input, forget, cell, output, and the cell state (N, H) → the next hidden and cell state."""
    i, f, g, o = _split4(gates)
    cell = _add(_mul(sigmoid(f), cell), _mul(sigmoid(i), tanh(g)))
    return _mul(sigmoid(o), tanh(cell)), cell


def composed_gru_cell(from_input: Raw, from_hidden: Raw, hidden: Raw) -> Raw:
    """Run a GRU cell: gates (N, 3H) ordered reset, update, new, and the hidden state (N, H) → the next hidden state."""
    xr, xz, xn = _split3(from_input)
    hr, hz, hn = _split3(from_hidden)
    reset, update = sigmoid(_add(xr, hr)), sigmoid(_add(xz, hz))
    new = tanh(_add(xn, _mul(reset, hn)))
    return _add(new, _mul(update, _sub(hidden, new)))


define("lstm_cell", cpu=composed_lstm_cell, dtypes=FLOATS, via=VIA_HALF)
define("gru_cell", cpu=composed_gru_cell, dtypes=FLOATS, via=VIA_HALF)
