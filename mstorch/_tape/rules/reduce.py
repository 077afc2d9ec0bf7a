"""Gradients of sums."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import vocabulary as v
from ..apply import rule


def restored(node: Any, g: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient with the reduced dimensions back, of length 1."""
    own = node.shapes[0]
    if keepdim or not dims or not own:
        return g
    return v.reshape(g, tuple(1 if d in dims else n for d, n in enumerate(own)))


@rule("sum", label="SumBackward1")
def sum(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    return v.spread(restored(node, g, dims, keepdim), node.shapes[0])


@rule("mean", label="MeanBackward1")
def mean(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    count = 1
    for dim in dims if node.shapes[0] else ():
        count *= node.shapes[0][dim]
    return v.spread(v.div(restored(node, g, dims, keepdim), v.constant(count, g)), node.shapes[0])


@rule("prod", keep=(0, "result"))
def prod(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    x, own = node.kept(g, 0), node.shapes[0]
    if not own:
        return g
    g = restored(node, g, dims, keepdim)
    if v.is_zero(x).any():
        return v.mul(g, v.conj(_products_of_others(x, dims)))
    return v.mul(g, v.conj(v.div(restored(node, node.kept(g, 1), dims, keepdim), x)))


def _products_of_others(x: Any, dims: tuple[int, ...]) -> Any:
    """For each element the product of the others that it is multiplied with, without a division: some are zero."""
    shape = v.shape_of(x)
    order = [d for d in range(len(shape)) if d not in dims] + list(dims)
    moved = v.permute(x, order)
    wide, count = v.shape_of(moved), int(np.prod([shape[d] for d in dims]))
    rows = v.reshape(moved, (-1, count))
    if rows.__class__ is np.ndarray:
        ones = np.ones((rows.shape[0], 1), rows.dtype)
        before = np.cumprod(np.concatenate([ones, rows[:, :-1]], 1), 1, dtype=rows.dtype)
        after = np.cumprod(np.concatenate([ones, rows[:, :0:-1]], 1), 1, dtype=rows.dtype)[:, ::-1]
        found: Any = before * after
    else:
        parts = [_column(rows, number) for number in range(count)]
        before, after = [v.constant(1, x)], [v.constant(1, x)]
        for number in range(count - 1):
            before.append(v.mul(parts[number], before[-1]))
            after.append(v.mul(parts[count - 1 - number], after[-1]))
        found = None
        for number in range(count):
            product = v.mul(before[number], after[count - 1 - number])
            term = _placed(v.spread(product, (v.shape_of(rows)[0], 1)), number, count)
            found = term if found is None else v.add(found, term)
    return v.permute(v.reshape(found, wide), [int(i) for i in np.argsort(order)])


def _column(rows: Any, number: int) -> Any:
    shape = v.shape_of(rows)
    return v.mapped(rows, lambda array: array[:, number : number + 1], lambda array: _in_column(array, number, shape[1]), "SliceBackward0")


def _placed(column: Any, number: int, count: int) -> Any:
    return v.mapped(
        column, lambda array: _in_column(array, number, count), lambda array: array[:, number : number + 1], "SliceBackward0"
    )


def _in_column(array: np.ndarray, number: int, count: int) -> np.ndarray:
    whole = np.zeros((array.shape[0], count), array.dtype)
    whole[:, number : number + 1] = array
    return whole
