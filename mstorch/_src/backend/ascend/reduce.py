"""Reductions, scans, sorting and counting on Ascend."""
from __future__ import annotations

import math
from functools import partial
from typing import Any

from ..kernels._nodes import constant
from ..kernels.reduce import reduced_shape
from ..raw import MS_DTYPE, Raw
from ..table import FLOATS, HALVES, INTS, VIA_BFLOAT16
from ..tape import tracing
from ._primitives import absent, enter, enters, of_vectors, run

Dims = tuple[int, ...]
INT32, INT64, BOOL = MS_DTYPE["int32"], MS_DTYPE["int64"], MS_DTYPE["bool"]


def _of_nothing(value: complex, x: Raw, dims: Dims, keepdim: bool, kind: Any = None) -> Raw:
    """Return the reduction of an empty tensor as a constant, because MindSpore 2.10's CPU kernels return uninitialized memory (devices were
    not tested)."""
    zeros = run("Zeros", reduced_shape(tuple(x.shape), dims, keepdim), kind or x.dtype)
    return run("AddExt", zeros, constant(value, zeros), 1) if value else zeros


@enters("sum")
def _sum(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    if x.size == 0:
        return _of_nothing(0, x, dims, keepdim)
    return run("SumExt", x, dims, keepdim, x.dtype) if x.shape else run("Clone", x)


@enters("mean")
def _mean(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    if x.size == 0:
        return _of_nothing(math.nan, x, dims, keepdim)
    return run("MeanExt", x, dims, keepdim, None) if x.shape else run("Clone", x)


@enters("prod")
def _prod(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    """Return the product along several dimensions, one after another from the last: the kernel reduces one dimension."""
    if not dims or not x.shape:
        return run("Clone", x)
    if x.size == 0:
        return _of_nothing(1, x, dims, keepdim)
    for dim in sorted(dims, reverse=True):
        x = run("ProdExt", x, dim, keepdim, x.dtype) if tracing() is None else _product_in_graph(x, dim, keepdim)
    return x


def _product_in_graph(x: Raw, dim: int, keepdim: bool) -> Raw:
    """Return the product along a dimension as products of halves: MindSpore's gradient of ProdExt branches on values, which no graph of O0
    does (2.10)."""
    shape = tuple(x.shape)
    length = shape[dim]
    while length > 1:
        half = length // 2
        rest = [run("SliceExt", x, dim, 2 * half, length, 1)] if length % 2 else []
        x = run("Mul", run("SliceExt", x, dim, 0, half, 1), run("SliceExt", x, dim, half, 2 * half, 1))
        if rest:
            x = run("Concat", (x, *rest), at=(dim,))
        length = half + len(rest)
    return x if keepdim else run("Reshape", x, (*shape[:dim], *shape[dim + 1 :]))


@enters("amax")
def _amax(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    return run("ReduceMax", x, dims, at=(keepdim,)) if x.shape else run("Clone", x)


@enters("amin")
def _amin(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    return run("ReduceMin", x, dims, at=(keepdim,)) if x.shape else run("Clone", x)


@enters("all")
def _all(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    if x.size == 0:
        return run("LogicalNot", _of_nothing(0, x, dims, keepdim, BOOL))
    return run("ReduceAll", x, dims, at=(keepdim,)) if x.shape else run("Clone", x)


@enters("any")
def _any(x: Raw, dims: Dims, keepdim: bool) -> Raw:
    if x.size == 0:
        return _of_nothing(0, x, dims, keepdim, BOOL)
    if not x.shape:
        return run("Clone", x)
    numbers = x if x.dtype == BOOL else run("Cast", x, INT32)
    count = run("SumExt", numbers, dims, keepdim, INT32)  # repeated ReduceAny returned True for empty input on the 910B
    return run("Greater", count, constant(0, count))


def _extreme_index(name: str, x: Raw, dim: int | None, keepdim: bool) -> Raw:
    """Return the index of an extreme; MindSpore refuses empty tensors, though the reduced dimension has elements."""
    if x.size or dim is None:
        return run(name, x, dim, keepdim)
    return run("Zeros", reduced_shape(tuple(x.shape), (dim,), keepdim), INT64)


@enters("p_norm")
def _p_norm(x: Raw, p: float, dims: Dims, keepdim: bool, share: bool = True) -> Raw:
    return run("LinalgVectorNorm", x, p, dims, keepdim, None)


def _var_mean(x: Raw, dims: Dims, correction: int, rooted: bool) -> tuple[Raw, Raw]:
    """Return the variance or its root, and the mean; all dimensions are reduced as one, since the 910B rejects Var over several."""
    whole = len(dims) == len(x.shape)
    rows = run("Reshape", x, (1, -1)) if whole else x
    found = run("StdMean" if rooted else "VarMean", rows, (1,) if whole else dims, correction, True)
    shape = reduced_shape(tuple(x.shape), dims, True)
    return (run("Reshape", found[0], shape), run("Reshape", found[1], shape)) if whole else (found[0], found[1])


@enters("running_sum")
def _cumsum(x: Raw, dim: int) -> Raw:
    return run("CumsumExt", x, dim, x.dtype)


def _cumprod(x: Raw, dim: int) -> Raw:
    return run("CumProd", x, dim, at=(False, False))


def _cummax_indices(x: Raw, dim: int) -> Raw:
    return run("Cummax", x, at=(dim,))[1]


def _cummin_indices(x: Raw, dim: int) -> Raw:
    return run("CumminExt", x, dim)[1]


def _argsort(x: Raw, dim: int, descending: bool, stable: bool) -> Raw:
    return run("SortExt", x, dim, descending, stable)[1]


@enters("topk_indices")
def _topk_indices(x: Raw, k: int, dim: int, largest: bool, in_order: bool) -> Raw:
    return run("TopkExt", x, k, dim, largest, in_order)[1]


def _kth_index(x: Raw, k: int, dim: int) -> Raw:
    return run("SliceExt", run("SortExt", x, dim, False, True)[1], dim, k, k + 1, 1)


def _searchsorted(sequence: Raw, values: Raw, right: bool) -> Raw:
    return run("SearchSorted", sequence, values, None, at=(INT64, right))


@enters("segment_sum")
def _segment_sum(values: Raw, positions: Raw, count: int) -> Raw:
    return run("ScatterAddExt", run("Zeros", (count,), values.dtype), 0, positions, values)


@enters("count_positions")
def _count_positions(positions: Raw, count: int) -> Raw:
    return run("BincountExt", positions, None, count)


enter("argmax", partial(_extreme_index, "ArgMaxExt"))
enter("argmin", partial(_extreme_index, "ArgMinExt"))
enter("cumsum", of_vectors(_cumsum))
enter("cumprod", of_vectors(_cumprod))
enter("cummax_indices", of_vectors(_cummax_indices))
enter("cummin_indices", of_vectors(_cummin_indices))
enter("argsort", of_vectors(_argsort))
enter("kth_index", of_vectors(_kth_index))
enter("searchsorted", _searchsorted, FLOATS + ("float16",) + INTS, VIA_BFLOAT16)
enter("var_mean", _var_mean, FLOATS + HALVES)
enter("log_sum_exp", "LogSumExp", FLOATS + HALVES)
absent("no kernel of the device adds up exponentials along the way: CumulativeLogsumexp keeps no NaN", "logcumsumexp")
absent("no kernel of the device sorts rows by several keys", "lexicographic_order")
