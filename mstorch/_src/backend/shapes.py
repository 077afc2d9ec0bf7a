"""Shapes and dtypes of a kernel's results without its computation, for meta tensors.

They are inferred from calls on small arrays: each length above 1 is replaced by a small one, consistently and preserving order. If lengths
matter (the windows of a convolution), a formula is used, or the kernel on an empty batch, or on zeros of the full size.
tests/core/test_meta.py checks all rows.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..quiet import quiet
from .arrays import Array
from .table import Function

Sizes = tuple[int, ...]

SIZED = frozenset(
    "attention attention_grad conv2d_input conv2d_weight conv_grad count_positions embedding_grad expand glu glu_grad gru_cell index "
    "index_placed kth_index linear_index lstm_cell max_pool_grad nonzero packed_attention packed_attention_grad reshape segment_sum "
    "select slice storage_gather storage_scatter pad_like_grad topk_indices upsample_grad view_dtype window window_placed".split()
)
"""Kernels whose results depend on lengths passed as arguments, and that therefore run on zeros of the full size."""

WITHOUT_BATCH = frozenset(
    "conv conv2d conv_transpose conv_transpose2d avg_pool max_pool max_pool_indices adaptive_avg_pool adaptive_max_pool upsample im2col "
    "col2im".split()
)
"""Kernels of (N, C, …) whose result shapes, except for N, are those of an empty batch."""


def _cat(arrays: Sequence[Array], dim: int) -> Sizes:
    shapes = [array.shape for array in arrays if array.shape != (0,)] or [arrays[0].shape]
    return (*shapes[0][:dim], sum(shape[dim] for shape in shapes), *shapes[0][dim + 1 :])


def _stack(arrays: Sequence[Array], dim: int) -> Sizes:
    shape = arrays[0].shape
    return (*shape[:dim], len(arrays), *shape[dim:])


def _pad(x: Array, pads: Sizes, how: float) -> Sizes:
    shape = list(x.shape)
    for number in range(len(pads) // 2):
        shape[-1 - number] += pads[2 * number] + pads[2 * number + 1]
    return tuple(shape)


def _tile(x: Array, repeats: Sizes) -> Sizes:
    shape = (1,) * (len(repeats) - x.ndim) + x.shape
    return tuple(length * count for length, count in zip(shape, (1,) * (len(shape) - len(repeats)) + tuple(repeats)))


LIKE_THE_FIRST: dict[str, Callable[..., Sizes]] = {"cat": _cat, "stack": _stack, "pad": _pad, "pad_like": _pad, "tile": _tile}
"""Functions that compute the result's shape, for operations whose single result has the dtype of the first input."""


def told(op: str, kernel: Function, inputs: Sequence[Any], args: Sequence[Any]) -> Any:
    """Return uninitialized arrays with the shapes and dtypes that a kernel's results would have. ``inputs`` are arrays or tuples of arrays;
    ``op`` is "" for a function that is not in the kernel table."""
    if op in LIKE_THE_FIRST:
        first = inputs[0]
        kind = first[0].dtype if first.__class__ is tuple else first.dtype
        return _empty(LIKE_THE_FIRST[op](first, *inputs[1:], *args), kind)
    if op and op not in SIZED and op not in WITHOUT_BATCH:
        return _by_small(kernel, (*inputs, *args))
    if op in WITHOUT_BATCH and inputs[0].ndim > 2 and inputs[0].shape[0]:
        batch = inputs[0].shape[0]
        return _with_shapes(kernel(inputs[0][:0], *inputs[1:], *args), lambda shape: (batch, *shape[1:]))
    return kernel(*inputs, *args)


def _empty(shape: Sizes, kind: np.dtype[Any]) -> Array:
    """Return zeros of a shape that occupy one element."""
    return np.broadcast_to(np.zeros((), kind), shape)


def _lengths(values: Any, found: set[int]) -> set[int]:
    for value in values:
        if value.__class__ is np.ndarray:
            found.update(value.shape)
        elif value.__class__ is tuple:
            _lengths(value, found)
    return found


def _exchanged(value: Array | float | tuple[int, ...], small: dict[int, int]) -> Any:
    if value.__class__ is np.ndarray:
        return np.zeros([small[length] for length in value.shape], value.dtype)
    return tuple(_exchanged(item, small) for item in value) if value.__class__ is tuple else value


def _by_small(kernel: Function, given: Sequence[Any]) -> Any:
    large = sorted(_lengths(given, set()) - {0, 1})
    small = {0: 0, 1: 1, **{length: number + 2 for number, length in enumerate(large)}}
    own = {length: number for number, length in small.items()}
    with quiet():
        found = kernel(*[_exchanged(value, small) for value in given])
    return _with_shapes(found, lambda shape: tuple(own[length] for length in shape))


def _with_shapes(found: Array | tuple[Array, ...], change: Callable[[Sizes], Sizes]) -> Array | tuple[Array, ...]:
    """Return results with changed shapes; numbers and None unchanged."""
    if found.__class__ is tuple:
        return tuple(_with_shapes(item, change) for item in found)
    return _empty(change(found.shape), found.dtype) if found.__class__ is np.ndarray else found
