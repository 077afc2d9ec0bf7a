"""Kernels under storage cells and views: reading and writing parts of a storage, reshapes, copies."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import mint, ops

from .. import tape
from ..raw import ON_CPU, Raw, from_numpy
from ..table import BUT_BFLOAT16, VIA_BFLOAT16, define

_reshape = ops.Reshape()
_transpose = ops.Transpose()
_scatter_update = ops.TensorScatterUpdate()
_gather = ops.Gather()


def ops_reshape(raw: Raw, shape: tuple[int, ...]) -> Raw:
    return _reshape(raw, tuple(shape))


def ops_permute(raw: Raw, order: tuple[int, ...]) -> Raw:
    return _transpose(raw, order) if order else raw


def composed_storage_gather(raw: Raw, index: Raw) -> Raw:
    """The elements at flat positions ``index`` (int64, any shape)."""
    return _gather(_reshape(raw, (-1,)), index, 0)


def composed_storage_scatter(raw: Raw, index: Raw, new: Raw) -> Raw:
    """A copy of ``raw`` with the elements at flat positions ``index`` replaced by ``new`` of the index's shape."""
    if index.size == 0:
        return raw
    flat = _scatter_update(_reshape(raw, (-1,)), _reshape(index, (-1, 1)), _reshape(new, (-1,)))
    return _reshape(flat, tuple(raw.shape))


def _replace_forward(ctx: Any, old: Raw, new: Raw, passes: bool) -> Raw:
    ctx.passes = passes
    return tape.detached(new)


def _replace_backward(ctx: Any, gradient: Raw) -> tuple[Raw, None, None]:
    return (gradient if ctx.passes else ops.zeros_like(gradient)), None, None


def copy_memory(raw: Raw) -> Raw:
    """A copy in fresh memory, not recorded."""
    return from_numpy(raw.asnumpy().copy(order="C"))


def _clone_forward(ctx: Any, raw: Raw) -> Raw:
    return copy_memory(raw)


def _clone_backward(ctx: Any, gradient: Raw) -> Raw:
    return gradient


_clone_recorded = tape.function_node("Clone", _clone_forward, _clone_backward)


def numpy_clone(raw: Raw) -> Raw:
    """A copy in fresh memory. MindSpore's Clone has no CPU kernel, and an arithmetic copy would change -0.0."""
    if tape.tracing() is not None:
        return ops.deepcopy(raw)
    if tape.grad_mode.enabled and raw._requires_grad:
        return _clone_recorded(raw)
    return copy_memory(raw)


define("reshape", cpu=ops_reshape)
define("permute", cpu=ops_permute)
define("storage_gather", cpu=composed_storage_gather, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("storage_scatter", cpu=composed_storage_scatter, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("replace_value", cpu=tape.function_node("CopySlices", _replace_forward, _replace_backward))
define("clone", cpu=numpy_clone, ascend=mint.clone if hasattr(mint, "clone") else None)
define("ones_like", cpu=lambda raw: from_numpy(np.ones(raw.shape, raw.asnumpy().dtype)) if ON_CPU else ops.ones_like(raw))
