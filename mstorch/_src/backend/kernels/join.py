"""Concatenation kernels."""
from __future__ import annotations

from typing import Any

from mindspore import ops

from ..raw import Raw
from ..table import BUT_BFLOAT16, VIA_BFLOAT16, define
from ..tape import function_node, grad_mode, tracing
from ._nodes import recorded
from .index import ops_slice
from .reduce import constant
from .views import numpy_clone
from .views import ops_reshape as _reshape

_CONCAT: dict[int, Any] = {}
_STACK: dict[int, Any] = {}


def concat(raws: tuple[Raw, ...], dim: int) -> Raw:
    prim = _CONCAT.get(dim)
    if prim is None:
        prim = _CONCAT[dim] = ops.Concat(dim)
    return prim(raws)


def _join(raws: tuple[Raw, ...], dim: int) -> Raw:
    parts = tuple(raw for raw in raws if raw.size)
    if len(parts) > 1:
        return concat(parts, dim)
    if parts:
        return numpy_clone(parts[0])
    shape = list(raws[0].shape)
    shape[dim] = sum(raw.shape[dim] for raw in raws)
    return constant(raws[0], tuple(shape), 0)


def _cat_forward(ctx: Any, dim: int, *raws: Raw) -> Raw:
    ctx.dim = dim
    ctx.shapes = [tuple(raw.shape) for raw in raws]
    return _join(raws, dim)


def _cat_backward(ctx: Any, gradient: Raw) -> tuple[Raw | None, ...]:
    parts: list[Raw | None] = [None]
    start = 0
    for shape in ctx.shapes:
        stop = start + shape[ctx.dim]
        empty = 0 in shape
        parts.append(constant(gradient, shape, 0) if empty else ops_slice(gradient, ctx.dim, start, stop, 1))
        start = stop
    return tuple(parts)


_cat_recorded = function_node("Cat", _cat_forward, _cat_backward)


def ops_cat(raws: tuple[Raw, ...], dim: int) -> Raw:
    """Concatenate the non-empty tensors. The gradient of MindSpore's Concat cannot be differentiated again (2.10)."""
    if tracing() is None and recorded(*raws):
        return _cat_recorded(dim, *raws)
    if len(raws) > 1 and all(raw.size for raw in raws):
        return concat(raws, dim)
    return _join(raws, dim)


def _stack(raws: tuple[Raw, ...], dim: int) -> Raw:
    prim = _STACK.get(dim)
    if prim is None:
        prim = _STACK[dim] = ops.Stack(dim)
    return prim(raws)


def _stack_forward(ctx: Any, dim: int, *raws: Raw) -> Raw:
    ctx.dim = dim
    ctx.count = len(raws)
    return _stack(raws, dim)


def _stack_backward(ctx: Any, gradient: Raw) -> tuple[Raw | None, ...]:
    dim = ctx.dim
    if not grad_mode.enabled:
        prim = _UNSTACK.get((dim, ctx.count))
        if prim is None:
            prim = _UNSTACK[dim, ctx.count] = ops.Unstack(dim, ctx.count)
        return (None, *prim(gradient))
    shape = tuple(gradient.shape)
    parts = (ops_slice(gradient, dim, i, i + 1, 1) for i in range(ctx.count))
    return (None, *(_reshape(part, shape[:dim] + shape[dim + 1 :]) for part in parts))


# The gradient of MindSpore's Stack cannot be differentiated again (2.10).
_stack_recorded = function_node("Stack", _stack_forward, _stack_backward)
_UNSTACK: dict[tuple[int, int], Any] = {}


def ops_stack(raws: tuple[Raw, ...], dim: int) -> Raw:
    if raws[0].size == 0:
        shape = tuple(raws[0].shape)
        return ops_cat(tuple(_reshape(raw, (*shape[:dim], 1, *shape[dim:])) for raw in raws), dim)
    return _stack_recorded(dim, *raws) if tracing() is None and recorded(*raws) else _stack(raws, dim)


define("cat", cpu=ops_cat, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("stack", cpu=ops_stack, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
