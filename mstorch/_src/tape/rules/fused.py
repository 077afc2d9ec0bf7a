"""Gradient of attention on devices that have a fused kernel for it."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.host.fused import hidden_by_sequence
from ...backend.table import kernel
from ...core.tensor_base import TensorBase
from .. import vocabulary as v
from ..apply import rule

_grad, _packed_grad = kernel("attention_grad"), kernel("packed_attention_grad")
_softmax, _and = v.Primitive("softmax"), v.Primitive("bitwise_and")


def _scaled_product(node: Any, g: Any) -> Any:
    (of_input, of_first, of_second), (beta, alpha) = node.edges, node.args
    scaled = g if alpha == 1 or of_first is of_second is None else v.times(g, alpha)
    return (
        None if of_input is None else v.fit(g if beta == 1 else v.times(g, beta), node.shapes[0]),
        None if of_first is None else _product(scaled, v.transpose(node.kept(g, 1))),
        None if of_second is None else _product(v.transpose(node.kept(g, 0)), scaled),
    )


def _product(a: Any, b: Any) -> Any:
    return (v.mm if len(a.shape) == 2 else v.bmm)(a, b)


rule("addmm", keep=(1, 2))(_scaled_product)
rule("baddbmm", keep=(1, 2))(_scaled_product)


_drop = v.Primitive("drop")


@rule("drop", keep=(1,), label="MulBackward0")
def drop(node: Any, g: Any) -> tuple[Any, None]:
    return _drop(g, node.kept(g), *node.args), None


@rule("attention", keep=(0, 1, 2, 3, 4, "result", "result1", "result2"), label="ScaledDotProductFlashAttentionBackward0")
def attention(node: Any, gradients: list[Any]) -> tuple[Any, ...]:
    g = gradients[0]
    q, k, value, mask, bits, found, top, total = (node.kept(g, place) for place in range(8))
    if isinstance(g, TensorBase):
        return (*_in_steps(g, q, k, value, mask, bits, *node.args), None, None)
    return (*_grad[v.dtype_name(q)](g, q, k, value, mask, bits, found, top, total, *node.args), None, None)


def _in_steps(
    g: Any, q: Any, k: Any, value: Any, mask: Any, bits: Any, scale: float, causal: bool, layout: str, keep: float
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of attention composed of operations that autograd tracks. Arguments are as the kernel takes them."""
    if layout == "BSND":
        g, q, k, value = (v.permute(item, (0, 2, 1, 3)) for item in (g, q, k, value))
        return tuple(v.permute(item, (0, 2, 1, 3)) for item in _in_steps(g, q, k, value, mask, bits, scale, causal, "BNSD", keep))
    (batch, heads, length, width), (groups, keys) = v.shape_of(q), v.shape_of(k)[1:3]

    def of_all_heads(x: Any) -> Any:
        own, each = (batch, groups, 1, *v.shape_of(x)[2:]), (batch, groups, heads // groups, *v.shape_of(x)[2:])
        return v.reshape(v.spread(v.reshape(x, own), each), (-1, *own[3:]))

    def of_groups(x: Any) -> Any:
        return v.reshape(v.fit(v.reshape(x, (batch, groups, heads // groups, keys, width)), (batch, groups, 1, keys, width)), v.shape_of(k))

    rows, g_rows = (v.reshape(item, (-1, length, width)) for item in (q, g))
    k_rows, v_rows = of_all_heads(k), of_all_heads(value)
    scores = v.reshape(v.bmm(rows, v.transpose(k_rows)), (batch, heads, length, keys))
    if mask is not None and v.dtype_name(mask) != "bool":
        scores = v.add(scores, v.spread(mask, v.shape_of(scores)))
    scores = v.times(scores, scale)
    if causal:
        mask = v.tensor_beside(np.triu(np.ones((length, keys), bool), 1), q)
    if mask is not None and v.dtype_name(mask) == "bool":
        scores = v.where(mask, float("-inf"), scores)
    weights = v.reshape(_softmax(scores, -1), (-1, length, keys))
    dropped = lambda x: x
    if bits is not None:
        kept = _and(v.reshape(bits, (*v.shape_of(bits), 1)), v.tensor_beside(np.left_shift(1, np.arange(8)).astype(np.uint8), q))
        kept = v.ne(v.reshape(kept, (-1, length, keys)), v.constant(0, bits))
        dropped = lambda x: v.where(kept, v.times(x, 1 / keep), 0)
    by_weights = dropped(v.bmm(g_rows, v.transpose(v_rows)))
    slope = v.times(v.mul(weights, v.sub(by_weights, v.total(v.mul(weights, by_weights), (2,)))), scale)
    of_query = v.reshape(v.bmm(slope, k_rows), v.shape_of(q))
    return of_query, of_groups(v.bmm(v.transpose(slope), rows)), of_groups(v.bmm(v.transpose(dropped(weights)), g_rows))


@rule("packed_attention", keep=(0, 1, 2, "result", "result1", "result2"), label="FlashAttentionVarlenBackward0")
def packed_attention(node: Any, gradients: list[Any]) -> tuple[Any, ...]:
    g = gradients[0]
    q, k, value, found, top, total = (node.kept(g, place) for place in range(6))
    if isinstance(g, TensorBase):
        return _packed_in_steps(g, q, k, value, *node.args)
    return _packed_grad[v.dtype_name(q)](g, q, k, value, found, top, total, *node.args)


def _packed_in_steps(
    g: Any, q: Any, k: Any, value: Any, q_ends: tuple[int, ...], k_ends: tuple[int, ...], scale: float, reach: tuple[str, int, int]
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of attention of sequences, composed as those of one sequence in which keys of other sequences are hidden."""
    hidden = hidden_by_sequence(q_ends, k_ends, reach)

    def of_batch(item: Any) -> Any:
        return v.reshape(v.permute(item, (1, 0, 2)), (1, *(v.shape_of(item)[at] for at in (1, 0, 2))))

    mask = v.tensor_beside(hidden, q)
    slopes = _in_steps(of_batch(g), of_batch(q), of_batch(k), of_batch(value), mask, None, scale, False, "BNSD", 1.0)
    return tuple(v.permute(v.reshape(item, v.shape_of(item)[1:]), (1, 0, 2)) for item in slopes)
