"""Gradients of repeat, flip, roll and masks."""
from __future__ import annotations

import numpy as np

from ...backend.arrays import Array
from ...backend.host.shape import numpy_tile
from ...backend.raw import NAME_OF, Raw, raw_dtype
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive

_roll, _triangle, _tile = Primitive("roll"), Primitive("triangle"), Primitive("tile")


@rule("tile", label="RepeatBackward0")
def tile(node: Applied, g: Operand) -> Operand:
    (repeats,) = node.args
    shape = node.shapes[0]
    split = tuple(n for pair in zip(repeats, shape) for n in pair)
    alone = tuple(n if i % 2 else 1 for i, n in enumerate(split))

    def summed(array: Array) -> Array:
        return np.asarray(v.sum_array(array.reshape(split), alone)).reshape(shape)

    def summed_raw(raw: Raw) -> Raw:
        return movement.reshaped(movement.fitted(movement.reshaped(raw, split), alone), shape)

    return v.mapped(
        g, summed, lambda array: numpy_tile(array, repeats), "RepeatBackward0",
        summed_raw, lambda raw: _tile.kernel[NAME_OF[raw_dtype(raw)]](raw, repeats),
    )  # fmt: skip


@rule("flip")
def flip(node: Applied, g: Operand) -> Operand:
    return v.flip(g, *node.args)


@rule("roll")
def roll(node: Applied, g: Operand) -> Operand:
    shifts, dims = node.args
    return _roll(g, tuple(-shift for shift in shifts), dims)


@rule("triangle", label="TrilBackward0")
def triangle(node: Applied, g: Array) -> Operand:
    return _triangle(g, *node.args)
