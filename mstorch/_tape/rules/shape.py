"""Gradients of repeating, reversing, moving and masking elements: linear maps and their transposes."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.host.shape import numpy_flip, numpy_roll, numpy_tile, numpy_triangle
from .. import vocabulary as v
from ..apply import rule


@rule("tile", label="RepeatBackward0")
def tile(node: Any, g: Any) -> Any:
    (repeats,) = node.args
    shape = node.shapes[0]
    split = tuple(n for pair in zip(repeats, shape) for n in pair)

    def summed(array: np.ndarray) -> np.ndarray:
        return np.asarray(v.sum_array(array.reshape(split), tuple(n if i % 2 else 1 for i, n in enumerate(split)))).reshape(shape)

    return v.mapped(g, summed, lambda array: numpy_tile(array, repeats), "RepeatBackward0")


@rule("flip")
def flip(node: Any, g: Any) -> Any:
    (dims,) = node.args
    return v.mapped(g, lambda array: numpy_flip(array, dims), lambda array: numpy_flip(array, dims), "FlipBackward0")


@rule("roll")
def roll(node: Any, g: Any) -> Any:
    shifts, dims = node.args
    back = tuple(-shift for shift in shifts)
    return v.mapped(g, lambda array: numpy_roll(array, back, dims), lambda array: numpy_roll(array, shifts, dims), "RollBackward0")


@rule("triangle", label="TrilBackward0")
def triangle(node: Any, g: Any) -> Any:
    def kept(array: np.ndarray) -> np.ndarray:
        return numpy_triangle(array, *node.args)

    return v.mapped(g, kept, kept, "TrilBackward0")
