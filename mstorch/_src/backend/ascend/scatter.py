"""Reductions of what is scattered, composed of Ascend's kernels, which scatter sums and products alone."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..device_memory import arange, full
from ..geometry import contiguous_strides
from ..kernels._nodes import constant
from ..raw import NAME_OF, Raw, raw_dtype
from ..table import FLOATS, INTS, VIA_HALF, kernel, serves
from ._primitives import by_host, enter, run

Sizes = tuple[int, ...]


def _row(op: str, x: Raw, *args: Any) -> Raw:
    """Run another operation's kernel."""
    found: Raw = kernel(op)[NAME_OF[raw_dtype(x)]](x, *args)
    return found


def _filled(shape: Sizes, value: int, like: Raw) -> Raw:
    return full(shape, value, NAME_OF[raw_dtype(like)])


def _flat_positions(shape: Sizes, dim: int, index: Raw) -> Raw:
    """Return the flat positions in a tensor of ``shape`` that scatter and gather reach through ``index``, as a vector."""
    steps = contiguous_strides(shape)
    found = index if steps[dim] == 1 else run("Mul", index, constant(steps[dim], index))
    for d, length in enumerate(index.shape):
        if d != dim and length > 1:
            ends = 0, length * steps[d], steps[d]
            places = arange(*ends, "int64", partial(np.arange, *ends))
            found = run("AddExt", found, run("Reshape", places, (length, *(1,) * (len(shape) - 1 - d))), 1)
    return run("Reshape", found, (-1,))


def _largest(x: Raw, source: Raw, dim: int, index: Raw, include_self: bool) -> Raw:
    """Return ``x`` with the largest values at their positions. Values are sorted, then stably by their positions: the last one of each
    position is written there, the others into an element that is cut off."""
    size, shape = x.size, tuple(x.shape)
    flat, values, places = run("Reshape", x, (-1,)), run("Reshape", source, (-1,)), _flat_positions(shape, dim, index)
    if include_self:
        values = _row("maximum", values, _row("take", flat, places))
    order = _row("argsort", values, 0, False, False)
    order = _row("take", order, _row("argsort", _row("take", places, order), 0, False, True))
    places, values = _row("take", places, order), _row("take", values, order)
    if places.size > 1:
        following = run("Concat", (run("SliceExt", places, 0, 1, places.size, 1), _filled((1,), -1, places)), at=(0,))
        places = run("Select", run("NotEqual", places, following), places, _filled((places.size,), size, places))
    longer = run("Concat", (flat, _filled((1,), 0, x)), at=(0,))
    return run("Reshape", run("SliceExt", _row("put", longer, values, places, False), 0, 0, size, 1), shape)


def _mean(x: Raw, source: Raw, dim: int, index: Raw, include_self: bool) -> Raw:
    total = _row("scatter", x, source, dim, index, "add")
    counts = _filled(tuple(x.shape), 1, x)
    if not include_self:
        counts = _row("scatter", counts, _filled(tuple(index.shape), 0, x), dim, index, "none")
    counts = _row("scatter", counts, _filled(tuple(index.shape), 1, x), dim, index, "add")
    return _row("div", total, counts) if NAME_OF[raw_dtype(x)] in FLOATS else _row("integer_divide", total, counts, "floor")


def _scatter_reduce(x: Raw, source: Raw, dim: int, index: Raw, how: str, include_self: bool) -> Raw:
    if how in ("amax", "amin") and not serves("argsort", NAME_OF[raw_dtype(x)]):
        found: Raw = by_host("scatter_reduce", x, source, dim, index, how, include_self)
        return found
    if not index.size or not x.size:
        return run("Clone", x)
    if not x.shape:
        parts = (run("Reshape", part, (-1,)) for part in (x, source, index))
        x, source, index = parts
        return run("Reshape", _scatter_reduce(x, source, 0, index, how, include_self), ())
    if how == "amax":
        return _largest(x, source, dim, index, include_self)
    if how == "amin":  # the maximum of negated values, or of the bitwise complements of integers
        turn = "neg" if NAME_OF[raw_dtype(x)] in FLOATS else "bitwise_not"
        return _row(turn, _largest(_row(turn, x), _row(turn, source), dim, index, include_self))
    if not include_self:
        x = _row("scatter", x, _filled(tuple(index.shape), int(how == "prod"), x), dim, index, "none")
    if how == "prod":
        product = run("Clone", x) if include_self else x
        run("InplaceScatterSrcReduce", product, dim, index, source, "multiply")
        return product
    return _mean(x, source, dim, index, include_self) if how == "mean" else _row("scatter", x, source, dim, index, "add")


enter("scatter_reduce", _scatter_reduce, FLOATS + INTS, {**VIA_HALF, "bool": "int32"})
