"""Gather, scatter-add and zero elements at index positions. Each is a linear map and is differentiated by its transpose."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.scatter import add_rows, wide
from .. import vocabulary as v
from ..apply import Applied
from ..operands import Operand


def _is_full(item: Any) -> bool:
    return item.__class__ is slice and item == slice(None)


class Places:
    """Positions that a NumPy key selects in an array of ``shape``, for values of the shape ``own``.

    ``flat``: the key is a vector of flat indices. ``rounded_once``: half precision is accumulated in float32. ``outer``: the array's own
    shape, where ``shape`` is only the shape that the key applies to."""

    def __init__(
        self, key: Array | tuple[Any, ...], shape: tuple[int, ...], own: tuple[int, ...], flat: bool = False,
        rounded_once: bool = False, outer: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self.key, self.shape, self.own, self.flat, self.rounded_once = key, shape or (1,), own, flat, rounded_once
        self.outer = shape if outer is None else outer

    def _taken(self, array: Array) -> Array:
        array, key = array.reshape(self.shape), self.key
        if key.__class__ is tuple and len(key) > 1 and key[-1].__class__ is not slice and set(map(type, key[:-1])) == {slice}:
            return array.take(key[-1], len(key) - 1).reshape(self.own)  # all leading dimensions are full slices: row-major, as in torch
        return np.asarray(array[key]).reshape(self.own)

    def _added(self, array: Array) -> Array:
        kind = array.dtype
        if self.rounded_once:
            array = wide(array)
        whole = np.zeros(self.shape, array.dtype)
        rows = self.key[0] if self.key.__class__ is tuple and self.key and all(map(_is_full, self.key[1:])) else None
        if rows is not None and rows.__class__ is not slice and rows.dtype.kind == "i" and rows.size and rows.min() >= 0:
            add_rows(whole, rows.reshape(-1), array.reshape(rows.size, *whole.shape[1:]))
        else:
            np.add.at(whole, self.key, array.reshape(-1) if self.flat else array)
        return np.asarray(whole.reshape(self.outer), kind)

    def _without(self, array: Array) -> Array:
        rest = np.array(array.reshape(self.shape))
        rest[self.key] = 0
        return rest.reshape(self.outer)

    def take(self, value: Operand) -> Any:
        """Gather the values at the positions."""
        return v.mapped(value, self._taken, self._added, "GatherBackward0")

    def add(self, value: Operand, label: str = "ScatterAddBackward0") -> Any:
        """Scatter-add values at the positions of a zero array."""
        return v.mapped(value, self._added, self._taken, label)

    def without(self, value: Array) -> Operand:
        """Return the array with zeros at the positions."""
        return v.mapped(value, self._without, self._without, "ScatterBackward1")

    def gradients(self, node: Applied, g: Array, adds: bool) -> tuple[Any, Any]:
        """Return the gradients of ``index_put`` and similar operations for the array and for the source, which was added to the array
        (``adds``) or overwrote it."""
        return (
            None if node.edges[0] is None else g if adds else self.without(g),
            None if node.edges[1] is None else self.take(g),
        )
