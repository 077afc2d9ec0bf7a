"""Attention and optimizer steps, composed of NumPy operations; devices have one fused kernel for each. Used by the stand-in device and by
checks.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..table import FLOATS, HALVES, define_host

Arrays = tuple[Array, ...]
WIDTH = 8
"""Number of copies of the maximum and the sum of a row of scores that devices write."""


def _grouped(x: Array, heads: int) -> Array:
    """Expand keys or values, cast to float32, to one per query head: adjacent query heads share a head of keys or values."""
    return np.repeat(x.astype(np.float32), heads // x.shape[1], 1)


def _scores(q: Array, k: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    scores = np.matmul(q.astype(np.float32), np.swapaxes(_grouped(k, q.shape[1]), -2, -1)) * np.float32(scale)
    if causal:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    elif mask is not None:
        scores = np.where(mask, np.float32(-np.inf), scores) if mask.dtype == bool else scores + mask.astype(np.float32) * np.float32(scale)
    return scores


def _laid_out(layout: str, *items: Array) -> Arrays:
    """Swap the second and third dimension for the layout (B, L, N, E)."""
    return items if layout == "BNSD" else tuple(np.ascontiguousarray(item.swapaxes(1, 2)) for item in items)


def _factors(bits: Array | None, keep: float) -> Array | np.float32:
    """Return the factors by which dropout multiplies weights: 1 / keep where a bit is 1, else 0."""
    if bits is None:
        return np.float32(1)
    return np.unpackbits(bits, -1, bitorder="little") * np.float32(1 / keep)


def attention(
    q: Array, k: Array, v: Array, mask: Array | None, bits: Array | None, scale: float, causal: bool, layout: str, keep: float
) -> Arrays:  # fmt: skip
    """Return attention of a query (B, N, L, E) to keys and values (B, M, S, E), and the maximum and the sum of each row, (B, N, L, 8).
    ``layout`` is "BNSD", or "BSND" for a query (B, L, N, E), keys and values (B, S, M, E) and a result (B, L, N, E).
    ``mask`` is True where a key is hidden, or is added before the scores are scaled. ``bits`` (B, N, L, S / 8)
    has eight keys a byte, from its lowest bit on: 1 where dropout keeps a weight, with probability ``keep``."""
    q, k, v = _laid_out(layout, q, k, v)
    with quiet():
        scores = _scores(q, k, mask, scale, causal)
        top = scores.max(-1, keepdims=True)
        powers = np.exp(scores - top)
        total = powers.sum(-1, keepdims=True)
        found = np.matmul(powers / total * _factors(bits, keep), _grouped(v, q.shape[1])).astype(q.dtype)
    return *_laid_out(layout, found), np.repeat(top, WIDTH, -1), np.repeat(total, WIDTH, -1)


def attention_grad(
    g: Array, q: Array, k: Array, v: Array, mask: Array | None, bits: Array | None, found: Array, top: Array, total: Array, scale: float,
    causal: bool, layout: str, keep: float,
) -> Arrays:  # fmt: skip
    """Return the gradients for query, key and value."""
    g, q, k, v, found = _laid_out(layout, g, q, k, v, found)
    heads, groups = q.shape[1], k.shape[1]
    g, factors = g.astype(np.float32), _factors(bits, keep)
    with quiet():
        weights = np.exp(_scores(q, k, mask, scale, causal) - top[..., :1]) / total[..., :1]
        by_weights = np.matmul(g, np.swapaxes(_grouped(v, heads), -2, -1)) * factors
        inner = (g * found.astype(np.float32)).sum(-1, keepdims=True)
        by_scores = weights * (by_weights - inner) * np.float32(scale)
        by_query = np.matmul(by_scores, _grouped(k, heads))
        by_key = np.matmul(np.swapaxes(by_scores, -2, -1), q.astype(np.float32))
        by_value = np.matmul(np.swapaxes(weights * factors, -2, -1), g)

    def shared(x: Array) -> Array:
        return x.reshape(x.shape[0], groups, heads // groups, *x.shape[2:]).sum(2)

    return _laid_out(layout, by_query.astype(q.dtype), shared(by_key).astype(k.dtype), shared(by_value).astype(v.dtype))


def _of_sequences(q_ends: tuple[int, ...], k_ends: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Yield the places of queries and of keys of each sequence, from where they end."""
    starts = zip((0, *q_ends), (0, *k_ends))
    for (q_start, k_start), q_stop, k_stop in zip(starts, q_ends, k_ends):
        yield slice(q_start, q_stop), slice(k_start, k_stop)


def _by_heads(item: Array, places: slice) -> Array:
    """Return one sequence of (T, N, E) as (1, N, L, E)."""
    return item[places].swapaxes(0, 1)[None]


def _hidden(queries: int, keys: int, reach: tuple[str, int, int]) -> Array | None:
    """Return which keys each query of a sequence does not attend to; None for none."""
    corner, before, after = reach
    if not corner:
        return None
    behind = np.arange(queries)[:, None] + (keys - queries if corner == "last" else 0) - np.arange(keys)
    return (behind > before) | (behind < -after)


def hidden_by_sequence(q_ends: tuple[int, ...], k_ends: tuple[int, ...], reach: tuple[str, int, int]) -> Array:
    """Return (queries, keys) which keys each query of sequences one after the other does not attend to."""
    hidden = np.ones((q_ends[-1], k_ends[-1]), bool)
    for own, theirs in _of_sequences(q_ends, k_ends):
        inside = _hidden(own.stop - own.start, theirs.stop - theirs.start, reach)
        hidden[own, theirs] = False if inside is None else inside
    return hidden


def packed_attention(
    q: Array, k: Array, v: Array, q_ends: tuple[int, ...], k_ends: tuple[int, ...], scale: float, reach: tuple[str, int, int]
) -> Arrays:  # fmt: skip
    """Return attention of sequences one after the other: queries (T, N, E), keys and values (S, M, E), where each sequence ends, and the
    maximum and the sum of each row, (T, N, 8). ``reach``: "" for all keys of a sequence, or with which of its places, "first" or "last",
    queries and keys lie at one another, and how many keys before and after its own place a query attends to."""
    found, top, total = np.empty(q.shape, q.dtype), *(np.empty((*q.shape[:2], WIDTH), np.float32) for _ in range(2))
    for own, theirs in _of_sequences(q_ends, k_ends):
        hidden = _hidden(own.stop - own.start, theirs.stop - theirs.start, reach)
        parts = attention(_by_heads(q, own), _by_heads(k, theirs), _by_heads(v, theirs), hidden, None, scale, False, "BNSD", 1.0)
        for result, part in zip((found, top, total), parts):
            result[own] = part[0].swapaxes(0, 1)
    return found, top, total


def packed_attention_grad(
    g: Array, q: Array, k: Array, v: Array, found: Array, top: Array, total: Array, q_ends: tuple[int, ...], k_ends: tuple[int, ...],
    scale: float, reach: tuple[str, int, int],
) -> Arrays:  # fmt: skip
    """Return the gradients for queries, keys and values of sequences one after the other."""
    slopes = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for own, theirs in _of_sequences(q_ends, k_ends):
        hidden = _hidden(own.stop - own.start, theirs.stop - theirs.start, reach)
        slope, rows, result, most, sums = (_by_heads(item, own) for item in (g, q, found, top, total))
        keys, values = (_by_heads(item, theirs) for item in (k, v))
        parts = attention_grad(slope, rows, keys, values, hidden, None, result, most, sums, scale, False, "BNSD", 1.0)
        for total_slope, part, places in zip(slopes, parts, (own, theirs, theirs)):
            total_slope[places] = part[0].swapaxes(0, 1)
    return slopes


def drop(x: Array, bits: Array, p: float) -> Array:
    """Return x / (1 - p) where the bit of an element is 1, else 0; ``bits`` has eight elements a byte, from the lowest bit on."""
    with quiet():
        return np.asarray(x * (np.unpackbits(bits, count=x.size, bitorder="little").reshape(x.shape) * x.dtype.type(1 / (1 - p))), x.dtype)


def adamw_step(
    param: Array, grad: Array, mean: Array, square: Array, done: float | Array, lr: float, beta1: float,
    beta2: float, decay: float, eps: float, maximize: bool,
) -> Arrays:  # fmt: skip
    """Return a parameter and its moments after an AdamW step that follows ``done`` earlier steps."""
    real, step = param.dtype.type, float(done) + 1
    grad = -grad if maximize else grad
    mean = mean + (grad - mean) * real(1 - beta1)
    square = square * real(beta2) + grad * grad * real(1 - beta2)
    low = np.sqrt(square) / real((1 - beta2**step) ** 0.5) + real(eps)
    return np.asarray(param * real(1 - lr * decay) - mean / low * real(lr / (1 - beta1**step))), np.asarray(mean), np.asarray(square)


def momentum_step(param: Array, grad: Array, velocity: Array, lr: float, momentum: float) -> tuple[Array, Array]:
    """Return a parameter and its velocity after a step of gradient descent with momentum."""
    velocity = np.asarray(velocity * velocity.dtype.type(momentum) + grad)
    return np.asarray(param - velocity * param.dtype.type(lr)), velocity


def add_scaled(x: Array, y: Array, scale: float) -> Array:
    """Return ``x + scale * y``."""
    return np.asarray(x + y * x.dtype.type(scale))


def add_product(x: Array, a: Array, b: Array, scale: float) -> Array:
    """Return ``x + scale * a * b``, rounded once."""
    wide = [item.astype(np.float32) for item in (x, a, b)]
    with quiet():
        return np.asarray(wide[0] + np.float32(scale) * wide[1] * wide[2]).astype(x.dtype)


def lerp_scalar(x: Array, end: Array, weight: float) -> Array:
    """Return ``x + weight * (end - x)``, rounded once."""
    with quiet():
        wide = x.astype(np.float32)
        return np.asarray(wide + (end.astype(np.float32) - wide) * np.float32(weight)).astype(x.dtype)


def scaled_product(x: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    """Return ``beta * x + alpha * (a @ b)``, rounded once."""
    with quiet():
        product = np.matmul(a.astype(np.float32), b.astype(np.float32))
        return np.asarray(x.astype(np.float32) * np.float32(beta) + product * np.float32(alpha)).astype(a.dtype)


_KINDS = ("float32", *HALVES)
define_host("attention", attention, _KINDS)
define_host("attention_grad", attention_grad, _KINDS)
define_host("packed_attention", packed_attention, _KINDS)
define_host("packed_attention_grad", packed_attention_grad, _KINDS)
define_host("drop", drop, _KINDS)
define_host("addmm", scaled_product, _KINDS)
define_host("baddbmm", scaled_product, _KINDS)
define_host("lerp_scalar", lerp_scalar, _KINDS)
define_host("add_product", add_product, _KINDS)
define_host("adamw_step", adamw_step, FLOATS)
define_host("momentum_step", momentum_step, FLOATS)
define_host("add_scaled", add_scaled, FLOATS)
