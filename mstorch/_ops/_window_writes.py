"""Writes by position to windows whose elements share memory (``unfold``, ``as_strided``): each value reaches the place it names."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.modes import grad_set_to, modes
from .._core.storage import Storage
from .._core.strides import flat_index, may_overlap, overlaps
from .._core.tensor_base import TensorBase, array_of, recording, strides_of, tensor_of
from .._core.writable import check_writable
from . import views
from ._in_place import in_place_form


def in_memory(target: Any) -> tuple[np.ndarray, np.ndarray]:
    """The memory that a window of the host spans, each element once, and where in it each element of the window stands."""
    array = array_of(target)
    places = flat_index(target._shape, strides_of(target), 0)
    return np.lib.stride_tricks.as_strided(array, (int(places.max()) + 1,), (array.itemsize,)), places


def form_for_windows(function: Callable[..., Any], write: Callable[..., bool]) -> Callable[..., Any]:
    """``function``'s in-place form, which writes such a window with ``write``, unless autograd follows or that returns False.

    ``write(memory, places, …)`` gets the memory as a tensor (n, 1), where the window's elements stand in it, and the arguments.
    """
    whole = in_place_form(function, f"{function.__name__}_")

    def method(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input._stride is not None and shares_places(input) and not _recorded(input, args, kwargs):
            check_writable(input)
            function(input, *args, **kwargs)  # whose errors come before anything is written
            places = flat_index(input._shape, input._stride, 0)
            with grad_set_to(False):
                memory = views.as_strided(input.detach(), (int(places.max()) + 1, 1), (1, 1), input._offset)
                if write(memory, places, *args, **kwargs):
                    return input
        return whole(input, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = whole.__name__, whole.__qualname__, whole.__doc__
    return method


def shares_places(input: Any) -> bool:
    """Whether elements of a tensor on the host share memory, which torch's look at its strides does not find."""
    shape, strides = input._shape, input._stride
    on_host = input._storage.__class__ is Storage and modes.native is None
    return on_host and 0 not in shape and may_overlap(shape, strides) and not overlaps(shape, strides)


def _recorded(input: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return recording([value for value in (input, *args, *kwargs.values()) if isinstance(value, TensorBase)])


def rows_at(places: np.ndarray, dim: int, index: Any, source: Any) -> tuple[Any, Any]:
    """The memory's rows that entries ``index`` of a dimension are, one entry after the other, and what is for them (n, 1)."""
    if not places.ndim:
        return tensor_of(np.zeros(1, np.int64)), source.reshape(1, 1)
    rows = np.moveaxis(places.take(array_of(index).reshape(-1), dim), dim, 0)
    return tensor_of(np.ascontiguousarray(rows.reshape(-1))), source.movedim(dim, 0).reshape(-1, 1)


def places_along(places: np.ndarray, dim: int, index: Any) -> np.ndarray:
    """Where the elements stand that ``scatter`` writes: ``index`` along a dimension, as they are in the others."""
    positions = array_of(index)
    grid = list(np.indices(positions.shape))
    grid[dim] = positions
    return np.asarray(places[tuple(grid)])
