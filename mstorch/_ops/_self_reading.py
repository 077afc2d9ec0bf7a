"""Elementwise operations that read what they write elsewhere in it (``x.sub_(x[0])``): torch computes one element after another."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._backend.cast import numpy_cast
from .._core.dtype import bfloat16, bool_, float16
from .._core.modes import modes
from .._core.promotion import can_cast
from .._core.storage import Storage
from .._core.strides import Strides, flat_index, iteration_order, may_overlap
from .._core.tensor_base import TensorBase, array_of, count_of, recording, strides_of, tensor_of, whole_storage

_PARALLEL = 32768  # from here on torch computes pieces at a time, in as many threads as there are
_VECTORS = 64  # bytes: a row of at least so many may be computed in vectors, whose length is the processor's

# Each of these reads an innermost row that has gaps before it writes any of it, in torch.
BY_ROWS = {
    "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "erf", "erfc",
    "erfinv", "lgamma", "i0",
}  # fmt: skip
# These have a form for a number as the second operand.
ONCE = {"mul", "div", "multiply", "divide", "true_divide"}


def in_sequence(
    target: Any, operands: Sequence[Any], function: Callable[..., Any], rows: bool = False, once: bool = False
) -> np.ndarray | None:
    """What ``function`` of the operands writes to ``target`` if each element reads what the ones before it wrote.

    None where nothing is read that was written before, and where torch's order depends on the processor. Nothing is written here.
    With ``rows`` an innermost row is read before any of it is written, with ``once`` a number that comes last, in half precision.
    """
    shape = target._shape
    readers = [value for value in operands if isinstance(value, TensorBase)]
    shared = [value is not target and _meets(value, target) for value in readers]
    if True not in shared or modes.native is not None or not 1 < count_of(shape) < _PARALLEL:
        return None
    own = strides_of(target)
    if any(not _fits(value._shape, shape) for value in readers) or may_overlap(shape, own) or recording([target, *readers]):
        return None
    windows = [own, *(_spread(value, shape) for value in readers)]
    if once and target._dtype in (float16, bfloat16) and not any(step for step, length in zip(windows[-1], shape) if length != 1):
        shared[-1] = False
    inner_first = [dim for dim in iteration_order(shape, windows) if shape[dim] != 1]
    order = [dim for dim in range(len(shape)) if shape[dim] == 1] + inner_first[::-1]
    length = _row(shape, windows, inner_first)
    sources = [_writers(target, value, order, length if rows else 1) if meets else None for value, meets in zip(readers, shared)]
    if all(source is None for source in sources):
        return None
    if length * target._dtype.itemsize >= _VECTORS and _vectors(windows, inner_first[0]) and any(
        source is not None and (source >= _first_of_row(source, length)).any() for source in sources
    ):
        return None
    columns = iter([_Column(value, shape, order, source) for value, source in zip(readers, sources)])
    given = [next(columns) if isinstance(value, TensorBase) else value for value in operands]
    found = np.empty(count_of(shape), target._dtype.np)
    for chosen in _levels(sources):
        result = function(*(value.at(chosen, found) if isinstance(value, _Column) else value for value in given))
        if not can_cast(result._dtype, target._dtype) or result._shape != chosen.shape:
            return None
        found[chosen] = numpy_cast(array_of(result), target._dtype.np)
    laid = found.reshape([shape[dim] for dim in order])
    return laid.transpose(np.argsort(order))


def put_in_sequence(target: Any, places: tuple[Any, ...], common: int, first: int, value: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """What ``target[places] = value`` reads of its own memory, one element after the other; None where it is read all before.

    The indices have ``common`` dimensions in ``shape``, that of what is written, from ``first`` on.
    """
    if not _meets(value, target, True) or not 1 < count_of(shape) < _PARALLEL:
        return None
    own = strides_of(target)
    written = flat_index(target._shape, own, target._offset)[places]
    read = flat_index(shape, _spread(value, shape), value._offset)
    if not np.isin(read, written).any():
        return None
    kept = [step for step, place in zip(own, places) if place.__class__ is slice]
    rest = len(shape) - first - common
    given = [np.broadcast_to(place, shape[first : first + common]).strides for place in places if place.__class__ is not slice]
    windows: list[Strides] = [
        (*kept[:first], *(0,) * common, *kept[first:]), _spread(value, shape), *((*(0,) * first, *steps, *(0,) * rest) for steps in given),
    ]  # fmt: skip
    order = iteration_order(shape, windows)[::-1]
    memory = array_of(whole_storage(target))
    new: dict[int, Any] = {}
    found = []
    for to, at in zip(written.transpose(order).ravel().tolist(), read.transpose(order).ravel().tolist()):
        new[to] = new[at] if at in new else memory[at]
        found.append(new[to])
    laid = np.array(found, memory.dtype).reshape([shape[dim] for dim in order])
    return laid.transpose(np.argsort(order))


def as_written(result: Any, out: Any, operands: Sequence[Any], function: Callable[..., Any], name: str = "") -> Any:
    """The result of an elementwise operation as it is written to ``out`` element by element, where operands are read there."""
    if not isinstance(out, TensorBase) or out._shape != result._shape or result._dtype not in (out._dtype, bool_):
        return result
    values = in_sequence(out, operands, function, name in BY_ROWS, name in ONCE)
    return result if values is None else tensor_of(np.array(values, order="C"))


def _fits(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    lead = len(shape) - len(own)
    return lead >= 0 and all(length in (1, wide) for length, wide in zip(own, shape[lead:]))


def _meets(value: Any, target: Any, moved: bool = False) -> bool:
    """Whether two windows of one dtype and one memory may have a place in common; not where they are the same, unless elements are
    ``moved`` within it."""
    if value._storage is not target._storage or value._dtype is not target._dtype or value._storage.__class__ is not Storage:
        return False
    if not moved and value._shape == target._shape and value._offset == target._offset and value._stride == target._stride:
        return False
    ends = [part._offset + sum((length - 1) * step for length, step in zip(part._shape, strides_of(part))) for part in (value, target)]
    return 0 not in value._shape and value._offset <= ends[1] and target._offset <= ends[0]


def _spread(value: Any, shape: tuple[int, ...]) -> Strides:
    """The strides of a window broadcast to a shape."""
    lead, steps = len(shape) - len(value._shape), strides_of(value)
    return (0,) * lead + tuple(
        0 if length == 1 and wide != 1 else step for length, wide, step in zip(value._shape, shape[lead:], steps)
    )


def _writers(target: Any, value: Any, order: list[int], length: int) -> np.ndarray | None:
    """For each element, in order, the number of the one in an earlier row that wrote what it reads in ``value``, or -1; or None."""
    shape = target._shape
    written = flat_index(shape, strides_of(target), target._offset).transpose(order).ravel()
    read = flat_index(shape, _spread(value, shape), value._offset).transpose(order).ravel()
    low, high = min(written.min(), read.min()), max(written.max(), read.max())
    table = np.full(high - low + 1, -1)
    table[written - low] = np.arange(written.size)
    writers = table[read - low]
    writers[writers >= _first_of_row(writers, length)] = -1
    return writers if (writers >= 0).any() else None


def _first_of_row(elements: np.ndarray, length: int) -> np.ndarray:
    return np.arange(elements.size) // length * length


def _row(shape: tuple[int, ...], windows: list[Strides], order: list[int]) -> int:
    """How many elements torch's innermost loop goes through: dimensions that continue each other are one to it."""
    length = 1
    for dim in order:
        if length > 1 and any(window[dim] != length * window[order[0]] for window in windows):
            break
        length *= shape[dim]
    return length


def _vectors(windows: list[Strides], inner: int) -> bool:
    """Whether the elements of a row stand side by side, so that they may be computed in vectors."""
    return windows[0][inner] == 1 and all(window[inner] in (0, 1) for window in windows)


def _levels(sources: list[np.ndarray | None]) -> list[np.ndarray]:
    """The elements in groups, each of which reads only what earlier groups wrote."""
    tables = [source.tolist() for source in sources if source is not None]
    level: list[int] = []
    for row in zip(*tables):
        level.append(max((level[writer] + 1 for writer in row if writer >= 0), default=0))
    numbers = np.array(level)
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


class _Column:
    """What the elements read in an operand, in order."""

    def __init__(self, value: Any, shape: tuple[int, ...], order: list[int], writers: np.ndarray | None) -> None:
        self.number = value if not value._shape and writers is None else None  # stays 0-d: it has its own part in promotion
        self.values = np.broadcast_to(array_of(value), shape).transpose(order).ravel()
        self.writers = writers

    def at(self, chosen: np.ndarray, found: np.ndarray) -> Any:
        """The values of the chosen elements; ``found`` are the results so far."""
        if self.number is not None:
            return self.number
        values = self.values[chosen]
        if self.writers is not None:
            writers = self.writers[chosen]
            values[writers >= 0] = found[writers[writers >= 0]]
        return tensor_of(values)
