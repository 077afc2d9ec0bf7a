"""Kernels under storages and views: reading and writing parts of a storage, reshaping, copying."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import mint, ops

from .. import tape
from ..cast import cast
from ..geometry import inverse_order
from ..raw import MS_DTYPE, Raw, from_numpy
from ..table import BUT_BFLOAT16, VIA_BFLOAT16, define

_reshape = ops.Reshape()
_transpose = ops.Transpose()
_scatter_update = ops.TensorScatterUpdate()


def follows(raw: Raw) -> bool:
    """Return whether MindSpore's autograd tracks the tensor (in eager mode)."""
    return tape.grad_mode.enabled and raw._requires_grad and tape.tracing() is None


def _reshape_forward(ctx: tape.Function, raw: Raw, shape: tuple[int, ...]) -> Raw:
    ctx.shape = tuple(raw.shape)
    return tape.detached(_reshape(raw, shape))


def _reshape_backward(ctx: tape.Function, gradient: Raw) -> tuple[Raw, None]:
    return ops_reshape(gradient, ctx.shape), None


_reshape_recorded = tape.function_node("View", _reshape_forward, _reshape_backward)


def ops_reshape(raw: Raw, shape: tuple[int, ...]) -> Raw:
    """Return a reshaped alias."""
    return _reshape_recorded(raw, tuple(shape)) if follows(raw) else _reshape(raw, tuple(shape))


def _permute_forward(ctx: tape.Function, raw: Raw, order: tuple[int, ...]) -> Raw:
    ctx.inverse = inverse_order(order)
    return tape.detached(_transpose(raw, order))


def _permute_backward(ctx: tape.Function, gradient: Raw) -> tuple[Raw, None]:
    return ops_permute(gradient, ctx.inverse), None


_permute_recorded = tape.function_node("Permute", _permute_forward, _permute_backward)


def ops_permute(raw: Raw, order: tuple[int, ...]) -> Raw:
    """Return an alias with permuted dimensions."""
    if not order:
        return raw
    return _permute_recorded(raw, tuple(order)) if follows(raw) else _transpose(raw, tuple(order))


def _expand_forward(ctx: Any, raw: Raw, shape: tuple[int, ...]) -> Raw:
    ctx.shape = tuple(raw.shape)
    return tape.detached(mint.broadcast_to(raw, shape))


def _expand_backward(ctx: Any, gradient: Raw) -> tuple[Raw, None]:
    shape, own = ctx.shape, tuple(gradient.shape)
    lead = len(own) - len(shape)
    dims = tuple(d for d in range(len(own)) if d < lead or (shape[d - lead] == 1 and own[d] != 1))
    if gradient.size == 0:
        return from_numpy(np.zeros(shape, gradient.asnumpy().dtype)), None
    return ops_reshape(ops_total(gradient, dims), shape), None


_expand_recorded = tape.function_node("Expand", _expand_forward, _expand_backward)


def mint_expand(raw: Raw, shape: tuple[int, ...]) -> Raw:
    """Return an alias with dimensions of length 1 expanded."""
    return _expand_recorded(raw, tuple(shape)) if follows(raw) else mint.broadcast_to(raw, shape)


_sum = ops.ReduceSum(True)


def _total_forward(ctx: Any, raw: Raw, dims: tuple[int, ...]) -> Raw:
    ctx.shape = tuple(raw.shape)
    return _sum(raw, dims)


def _total_backward(ctx: Any, gradient: Raw) -> tuple[Raw, None]:
    return mint_expand(gradient, ctx.shape), None


_total_recorded = tape.function_node("Sum", _total_forward, _total_backward)


def ops_total(raw: Raw, dims: tuple[int, ...]) -> Raw:
    """Sum a non-empty tensor over dimensions, which are kept with length 1; differentiable any number of times."""
    if not dims:
        return raw
    return _total_recorded(raw, tuple(dims)) if follows(raw) else _sum(raw, dims)


def composed_storage_scatter(raw: Raw, index: Raw, new: Raw) -> Raw:
    """Return a copy of ``raw`` with the elements at flat positions ``index`` replaced by ``new``, which has the index's shape."""
    if index.size == 0:
        return raw
    flat = _scatter_update(_reshape(raw, (-1,)), _reshape(index, (-1, 1)), _reshape(new, (-1,)))
    return _reshape(flat, tuple(raw.shape))


def copy_memory(raw: Raw) -> Raw:
    """Return a copy that MindSpore's autograd does not track."""
    return from_numpy(raw.asnumpy().copy(order="C"))


def _clone_forward(ctx: Any, raw: Raw) -> Raw:
    return copy_memory(raw)


def _clone_backward(ctx: Any, gradient: Raw) -> Raw:
    return gradient


_clone_recorded = tape.function_node("Clone", _clone_forward, _clone_backward)


def numpy_clone(raw: Raw) -> Raw:
    """Return a copy. MindSpore's Clone has no CPU kernel, and an arithmetic copy would change -0.0."""
    if tape.tracing() is not None:
        if raw.dtype == MS_DTYPE["bfloat16"]:  # MindSpore's Identity has no CPU kernel for it
            return cast(ops.deepcopy(cast(raw, "float32")), "bfloat16")
        return ops.deepcopy(raw)
    if tape.grad_mode.enabled and raw._requires_grad:
        return _clone_recorded(raw)
    return copy_memory(raw)


define("reshape", cpu=ops_reshape)
define("permute", cpu=ops_permute)
define("expand", cpu=mint_expand, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("storage_scatter", cpu=composed_storage_scatter, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("clone", cpu=numpy_clone)
