"""Functions of the CPU to compare device rows with that have no host row: views, convolutions, places in memory, triangular systems."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import Tensor, from_numpy, linalg
from ..._src.backend.arrays import Array
from ...nn import functional as F


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays that computes with tensors of the CPU."""

    def computed(*args: Any) -> Any:
        found = function(*[from_numpy(item) if isinstance(item, np.ndarray) else item for item in args])
        return tuple(item.numpy() for item in found) if isinstance(found, tuple) else found.numpy()

    return computed


def _convolved(x: Tensor, w: Tensor, bias: Tensor | None, *rest: Any) -> Tensor:
    return (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3](x, w, bias, *rest)


def _transposed(x: Tensor, w: Tensor, bias: Tensor | None, stride: Any, padding: Any, further: Any, dilation: Any, groups: int) -> Tensor:
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[x.dim() - 3]
    return function(x, w, bias, stride, padding, further, groups, dilation)


def _sliced(x: Array, dim: int, start: int, stop: int, step: int) -> Array:
    return x[(slice(None),) * dim + (slice(start, stop, step),)]


def _scattered(x: Array, places: Array, new: Array) -> Array:
    whole = x.copy()
    whole.reshape(-1)[places] = new
    return whole


def _places(first: Array, shape: Any, dims: Any, indices: Any, common: Any, adjacent: bool) -> Array:
    """Return flat positions: indices of neighbouring dimensions from the first of ``dims`` on."""
    chosen: list[Any] = [slice(None)] * len(shape)
    for dim, index in zip(dims, indices):
        chosen[dim] = index
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)[tuple(chosen)]


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "conv": _of_tensors(_convolved), "conv_transpose": _of_tensors(_transposed), "expand": np.broadcast_to, "permute": np.transpose,
    "reshape": np.reshape, "select": lambda x, dim, index: np.take(x, index, dim), "slice": _sliced, "linear_index": _places,
    "linalg_qr": _of_tensors(lambda x, mode: tuple(linalg.qr(x, mode))),
    "linalg_solve_triangular": _of_tensors(lambda a, b, upper, unit: linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)),
    "lexicographic_order": lambda x: np.lexsort(x.T[::-1]).astype(np.int64), "storage_gather": lambda x, places: x.reshape(-1)[places],
    "storage_scatter": _scattered, "view_dtype": lambda x, name: x.view(name),
}  # fmt: skip
"""By operation: a function of the row's arguments, as arrays."""
