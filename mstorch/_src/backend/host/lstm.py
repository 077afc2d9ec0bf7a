"""One direction of an LSTM layer over all steps on the host, by oneDNN alone: ``rnn.py`` computes the others, by NumPy."""
from __future__ import annotations

from collections.abc import Sequence

from ..arrays import Array
from ..onednn import lstm
from ..onednn.library import FOUND

USABLE = FOUND
"""Whether the library is there."""


def layer(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, bias: Array, reverse: bool, trained: bool
) -> tuple[Array, Array, Array, Array | None]:
    """Return the states of all steps (steps, N, H), the last state and cell (N, H), and for ``layer_slopes`` the kernel's workspace.

    ``x``: (steps, N, F); the steps are taken from the last to the first in ``reverse``."""
    return lstm.forward(x, h, c, w_ih, w_hh, bias, reverse, trained)


def layer_slopes(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, bias: Array, reverse: bool, results: Sequence[Array], gradients: Sequence[Array]
) -> tuple[Array, ...]:
    """Return the gradients of x, h, c, both weights and the bias (both biases of torch have it), from the results of ``layer`` and their
    gradients.
    """
    y, last, cell, workspace = results
    by_y, by_last, by_cell = gradients
    return lstm.backward(x, h, c, w_ih, w_hh, bias, reverse, (y, last, cell, workspace), (by_y, by_last, by_cell))
