"""Attention on the host: (batch, head) pairs in groups whose scores fit a core's cache, on several threads.

Weights that are more than the queries are recomputed for the gradient, and never materialized (as https://arxiv.org/abs/2205.14135 does,
with blocks of keys as well): torch's kernel keeps none, and a step would need a multiple of its memory.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..blocks import WORTH, share, threads
from ..geometry import rough_sum
from ..onednn import rows
from ..onednn.gemm import LEAST, products
from ..onednn.library import FOUND
from .matmul import numpy_bmm

_GROUP = 1 << 17  # number of scores that a thread processes at a time
_NS = 1.5  # nanoseconds per score, without the products
_FEW = 1 << 12  # number of scores of single rows below which a kernel does not pay
_RATE = 40.0  # multiplications per nanosecond

Group = tuple[slice, slice]


@functools.lru_cache(16)
def triangle(length: int, keys: int) -> Array:
    """Return the additive causal mask: 0 or -inf, (L, S) float32."""
    found = np.full((length, keys), -np.inf, np.float32)
    found[np.tril(np.ones((length, keys), bool))] = 0.0
    found.flags.writeable = False
    return found


def _groups(batch: int, heads: int, scores: int, parts: int) -> list[Group]:
    """Split the (batch, head) pairs into at least ``parts`` contiguous groups: each of whole batches, or of some heads of one batch."""
    limit = max(1, min(_GROUP, -(-batch * heads * scores // parts)) // scores)
    if limit >= heads:
        step = limit // heads
        return [(slice(b, min(b + step, batch)), slice(0, heads)) for b in range(0, batch, step)]
    return [(slice(b, b + 1), slice(h, min(h + limit, heads))) for b in range(batch) for h in range(0, heads, limit)]


def _chunks(group: Group, length: int, keys: int) -> Iterator[slice]:
    """Return row ranges of a group's scores; several if a single pair is too large."""
    single = group[0].stop - group[0].start == 1 and group[1].stop - group[1].start == 1
    step = max(16, _GROUP // keys) if single else length
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _multiply(a: Array, b: Array, out: Array) -> None:
    # A single row, as in text generation, has one more key each time: no kernel is created for each number of keys.
    if FOUND and a.dtype == np.float32 and out.size * a.shape[-1] >= LEAST and a.shape[-2] > 1:
        products(a, b, out)
    else:
        out[...] = numpy_bmm(a, b)


def _transposed(a: Array) -> Array:
    return a.swapaxes(-1, -2)


class _Scores:
    """Computes attention weights from query, key and mask."""

    def __init__(self, q: Array, k: Array, bias: Array | None, factor: np.floating[Any]) -> None:
        self.q, self.k, self.bias, self.factor = q, k, bias, factor
        self.hollow: Array | None = None
        if bias is not None:
            hollow = np.maximum.reduce(bias, axis=-1) == -np.inf
            self.bias = np.broadcast_to(bias, (*q.shape[:3], k.shape[2]))
            self.hollow = np.broadcast_to(hollow, q.shape[:3]) if hollow.any() else None

    def weigh(self, group: Group, chunk: slice, out: Array) -> Array:
        """Write the weights of some rows into a contiguous array; fully masked rows are zero unless a score is NaN."""
        place = (*group, chunk)
        _multiply(self.q[place], _transposed(self.k[group]), out)
        out *= self.factor  # scale the scores, not the queries: torch rounds the scores
        if self.bias is not None:
            out += self.bias[place]
        lost: Any = None
        if self.hollow is not None:
            hollow = self.hollow[place]
            lost = np.isnan(np.maximum.reduce(out[hollow], axis=1))
        flat = out.reshape(-1, out.shape[-1])
        if FOUND and out.dtype == np.float32 and (out.shape[-2] > 1 or out.size > _FEW):
            rows.softmax(rows.SOFTMAX, flat, flat)
        else:
            flat -= np.maximum.reduce(flat, axis=1, keepdims=True)
            np.exp(flat, out=flat)
            flat /= np.add.reduce(flat, axis=1, keepdims=True)
        if lost is not None:
            out[hollow] = np.where(lost, np.nan, 0.0).astype(out.dtype)[:, None]
        return out


def _shared(work: Callable[[Group], None], batch: int, heads: int, scores: int, width: int, passes: int) -> None:
    cost = scores * (_NS + passes * width / _RATE) * batch * heads
    groups = _groups(batch, heads, scores, threads.count if cost >= WORTH else 1)

    def some(start: int, end: int) -> None:
        with quiet():
            for group in groups[start:end]:
                work(group)

    share(some, len(groups), cost / len(groups))


def attention(
    q: Array, k: Array, v: Array, bias: Array | None, scale: float, keep: bool
) -> tuple[Array, Array | None]:
    """Return attention of (B, H, L, E), (B, H, S, E) and (B, H, S, E), in the shape and layout of ``q``, and with ``keep`` the attention
    weights.

    ``bias`` is added to the scores; it broadcasts to (B, H, L, S). No array is empty.
    """
    (batch, heads, length, width), keys = q.shape, k.shape[2]
    out = np.empty_like(q)
    whole = np.empty((batch, heads, length, keys), q.dtype) if keep and keys <= width else None
    scores = _Scores(q, k, bias, q.dtype.type(scale))

    def work(group: Group) -> None:
        for chunk in _chunks(group, length, keys):
            place = (*group, chunk)
            room = whole[place] if whole is not None else np.empty((*q[place].shape[:3], keys), q.dtype)
            _multiply(scores.weigh(group, chunk, room), v[group], out[place])

    _shared(work, batch, heads, length * keys, width, 2)
    return out, whole


def attention_slope(
    g: Array, q: Array, k: Array, v: Array, bias: Array | None, scale: float, whole: Array | None
) -> tuple[Array, Array, Array]:
    """Return the gradients for query, key and value, with the heads of a position adjacent in memory, as in torch's kernel."""
    (batch, heads, length, width), keys = q.shape, k.shape[2]
    factor = q.dtype.type(scale)
    scores = _Scores(q, k, bias if whole is None else None, factor)
    by_q, by_k, by_v = (np.empty((batch, x.shape[2], heads, width), x.dtype).swapaxes(1, 2) for x in (q, k, v))

    def work(group: Group) -> None:
        for number, chunk in enumerate(_chunks(group, length, keys)):
            place = (*group, chunk)
            weights = whole[place] if whole is not None else scores.weigh(group, chunk, np.empty((*q[place].shape[:3], keys), q.dtype))
            by_weights = np.empty(weights.shape, q.dtype)
            _multiply(g[place], _transposed(v[group]), by_weights)
            _through_softmax(weights, by_weights)
            _multiply(by_weights, k[group], by_q[place])
            if not number:
                _multiply(_transposed(weights), g[place], by_v[group])
                _multiply(_transposed(by_weights), scores.q[place], by_k[group])
            else:
                by_v[group] += numpy_bmm(_transposed(weights), g[place])
                by_k[group] += numpy_bmm(_transposed(by_weights), scores.q[place])

    _shared(work, batch, heads, length * keys, width, 5)
    by_q *= factor
    by_k *= factor
    return by_q, by_k, by_v


def _through_softmax(weights: Array, g: Array) -> None:
    """Convert the gradient of the attention weights to that of the scores, in place."""
    y, slope = weights.reshape(-1, weights.shape[-1]), g.reshape(-1, g.shape[-1])
    if FOUND and y.dtype == np.float32 and math.isfinite(rough_sum(y)):  # it rounds infinities differently
        rows.softmax_backward(rows.SOFTMAX, y, slope, slope)
        return
    slope -= np.einsum("ij,ij->i", y, slope)[:, None]
    slope *= y
