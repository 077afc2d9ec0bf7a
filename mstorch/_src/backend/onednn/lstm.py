"""All steps of one direction of an LSTM layer, and their gradients (Hochreiter and Schmidhuber, 1997), in float32.

The gates are ordered input, forget, cell, output, as torch's weights (4H, F) are; the library reads them as (F, 4, H).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .library import ENGINE
from .primitive import (
    BACKWARD,
    BIAS,
    INFERENCE,
    RESULT,
    SECOND,
    SOURCE,
    TRAINING,
    WEIGHTS,
    WORKSPACE,
    Descriptor,
    Layout,
    Primitive,
    copier,
    expect,
    none,
    prepared,
    rows,
)

_FORWARDS, _REVERSE = 1, 2
_CELL, _RECURRENT, _LAST, _LAST_CELL = SECOND + 1, WEIGHTS + 1, RESULT + 1, RESULT + 2
_GRADIENT = 128  # what is added to the number of an argument to name its gradient

Sizes = tuple[int, int, int, int]
"""Steps, rows, inputs, and the size of the state."""


class _Weights:
    """The reorders between torch's two weights and the layouts that a kernel reads or writes."""

    __slots__ = ("copies", "lengths")

    def __init__(self, descriptor: Descriptor, sizes: Sizes, gradients: bool) -> None:
        _, _, inputs, size = sizes
        self.copies, self.lengths = [], []
        for place, columns in ((WEIGHTS, inputs), (_RECURRENT, size)):
            whole = 4 * size * columns
            torchs = Layout((1, 1, columns, 4, size), (whole, whole, 1, size * columns, columns))
            own = descriptor.argument(place + _GRADIENT * gradients)
            self.copies.append(copier(own, torchs) if gradients else copier(torchs, own))
            self.lengths.append(descriptor.bytes_of(own) // 4)

    def packed(self, *weights: Array) -> list[Array]:
        """Return torch's weights as the kernel reads them."""
        arrays = [np.empty(length, np.float32) for length in self.lengths]
        for copy, weight, array in zip(self.copies, weights, arrays):
            copy(np.ascontiguousarray(weight), array)
        return arrays

    def unpacked(self, arrays: list[Array], *weights: Array) -> None:
        """Write what the kernel wrote into arrays of the shape of torch's weights."""
        for copy, array, weight in zip(self.copies, arrays, weights):
            copy(array, weight)


def _layouts(sizes: Sizes) -> dict[int, Layout]:
    """Return the layouts of the arguments by their numbers, in the library's order; the weights' are the kernel's choice."""
    steps, count, inputs, size = sizes
    x, state, y, bias = rows((steps, count, inputs)), rows((1, 1, count, size)), rows((steps, count, size)), rows((1, 1, 4, size))
    weights = {WEIGHTS: Layout((1, 1, inputs, 4, size)), _RECURRENT: Layout((1, 1, size, 4, size))}
    return {SOURCE: x, SECOND: state, _CELL: state, **weights, BIAS: bias, RESULT: y, _LAST: state, _LAST_CELL: state}


def _described(layouts: dict[int, Layout]) -> list[Any]:
    """Return the layouts as a descriptor takes them: there are no peepholes and no projection."""
    given = list(layouts.values())
    return [*given[:5], none(), none(), *given[5:]]


def _places(descriptor: Descriptor, layouts: dict[int, Layout], more: int = 0) -> list[tuple[int, Any]]:
    """Return the arguments' numbers plus ``more``, with their layouts."""
    chosen = (WEIGHTS, _RECURRENT)
    return [(place + more, descriptor.argument(place + more) if place in chosen else own) for place, own in layouts.items()]


def _forward(sizes: Sizes, reverse: bool, kind: int) -> tuple[Descriptor, Primitive, _Weights, int]:
    layouts, way = _layouts(sizes), _REVERSE if reverse else _FORWARDS
    descriptor = Descriptor("lstm_forward", ENGINE, kind, way, *_described(layouts), 0, None)
    places = _places(descriptor, layouts)
    room = 0
    if kind == TRAINING:
        workspace = descriptor.argument(WORKSPACE)
        places.append((WORKSPACE, workspace))
        room = descriptor.bytes_of(workspace)
    return descriptor, Primitive(descriptor, places), _Weights(descriptor, sizes, False), room


def _backward(sizes: Sizes, reverse: bool) -> tuple[Primitive, _Weights, _Weights]:
    layouts, way = _layouts(sizes), _REVERSE if reverse else _FORWARDS
    hint = prepared(_forward, sizes, reverse, TRAINING)[0]
    descriptor = Descriptor("lstm_backward", ENGINE, BACKWARD, way, *_described(layouts), *_described(layouts), 0, hint, None)
    workspace = (WORKSPACE, descriptor.argument(WORKSPACE))
    places = [*_places(descriptor, layouts), workspace, *_places(descriptor, layouts, _GRADIENT)]
    return Primitive(descriptor, places), _Weights(descriptor, sizes, False), _Weights(descriptor, sizes, True)


def _sizes(x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, bias: Array) -> Sizes:
    (steps, count, inputs), size = x.shape, h.shape[1]
    expect(h.shape == c.shape == (count, size) and w_ih.shape == (4 * size, inputs) and w_hh.shape == (4 * size, size))
    expect(bias.shape == (4 * size,) and all(array.dtype.char == "f" for array in (x, h, c, w_ih, w_hh, bias)))
    return steps, count, inputs, size


def forward(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, bias: Array, reverse: bool, trained: bool
) -> tuple[Array, Array, Array, Array | None]:
    """Return the states of all steps (steps, N, H), the last state and cell (N, H), and what ``backward`` needs if it is ``trained``.

    x: (steps, N, F). h and c: (N, H). ``bias`` (4H) is the sum of torch's two."""
    sizes = _sizes(x, h, c, w_ih, w_hh, bias)
    _, kernel, weights, room = prepared(_forward, sizes, reverse, TRAINING if trained else INFERENCE)
    y = np.empty((*x.shape[:2], h.shape[1]), np.float32)
    last, cell = np.empty(h.shape, np.float32), np.empty(h.shape, np.float32)
    given = (x, h, c, *weights.packed(w_ih, w_hh), bias, y, last, cell)
    if not trained:
        kernel(*given)
        return y, last, cell, None
    workspace = np.empty(room, np.uint8)
    kernel(*given, workspace)
    return y, last, cell, workspace


def backward(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, bias: Array, reverse: bool, results: Sequence[Array],
    gradients: Sequence[Array],
) -> tuple[Array, ...]:  # fmt: skip
    """Return the gradients of x, h, c, both weights and the bias, from what ``forward`` returned and the gradients of its results."""
    sizes = _sizes(x, h, c, w_ih, w_hh, bias)
    kernel, weights, slopes = prepared(_backward, sizes, reverse)
    y, last, cell, workspace = results
    expect(all(g.shape == own.shape and g.dtype.char == "f" for g, own in zip(gradients, results)) and len(y) == sizes[0])
    by_input = [np.empty(array.shape, np.float32) for array in (x, h, c)]
    by_packed = [np.zeros(length, np.float32) for length in slopes.lengths]  # the kernel adds to them
    by_bias = np.zeros(bias.shape, np.float32)
    kernel(x, h, c, *weights.packed(w_ih, w_hh), bias, y, last, cell, workspace, *by_input, *by_packed, by_bias, *gradients)
    by_weights = [np.empty(weight.shape, np.float32) for weight in (w_ih, w_hh)]
    slopes.unpacked(by_packed, *by_weights)
    return (*by_input, *by_weights, by_bias)
