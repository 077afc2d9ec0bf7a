"""Attention of sequences one after the other, (T, N, E), by a device's fused kernel: one for all sequences."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.backend.table import kernel
from ..._src.ops.layers.padding import constant_pad_nd
from ..._src.ops.memory.copying import contiguous
from ..._src.ops.shape import views
from ..._src.tape.apply import apply
from ..._src.tape.ways import fused
from ..._tensor import Tensor
from .fused_attention import HEADS, STEP, WIDEST

_packed = kernel("packed_attention")
_SEQUENCES = 1024  # MindSpore's limit; CANN's is 2048
FAR = 2**31 - 1
"""Number of keys before a query that are attended to: all."""


def fits_packed(query: Tensor, key: Tensor, value: Tensor, q_ends: Sequence[int], k_ends: Sequence[int], corner: str) -> bool:
    """Return whether the device's kernel supports this call: it limits sizes, and each query must see a key."""
    if not fused("packed_attention", query._ms_dtype, query, key, value):
        return False
    q, k = query._ms_shape, key._ms_shape
    if len(q) != 3 or len(k) != 3 or value._ms_shape != k or 0 in q or 0 in k or q[2] != k[2] or q[2] > WIDEST:
        return False
    lengths = lengths_of(q_ends, k_ends)
    if not lengths or len(lengths) > _SEQUENCES or q[1] > HEADS or q[1] % k[1] or (q_ends[-1], k_ends[-1]) != (q[0], k[0]):
        return False
    return all(keys and (corner != "last" or queries <= keys) for queries, keys in lengths if queries or keys)


def lengths_of(q_ends: Sequence[int], k_ends: Sequence[int]) -> list[tuple[int, int]]:
    """Return the numbers of queries and of keys of each sequence, from where it ends."""
    starts = zip((0, *q_ends), (0, *k_ends))
    return [(q_stop - q_start, k_stop - k_start) for (q_start, k_start), q_stop, k_stop in zip(starts, q_ends, k_ends)]


def packed_attention(
    query: Tensor, key: Tensor, value: Tensor, q_ends: Sequence[int], k_ends: Sequence[int], scale: float, corner: str = "",
    before: int = FAR, after: int = 0,
) -> list[Any]:  # fmt: skip
    """Return the attention (T, N, E) of sequences one after the other that end at these places, each over its own keys, and each row's
    maximum score and sum of exponentials, repeated 8 times, in float32.

    ``corner``: "" for all keys of a sequence. "first": the first query is at the first key's place, and keys up to a query's place are
    seen. "last": the last query is at the last key's place, and so many keys ``before`` and ``after`` a query's place are seen.
    """
    ends = [(q_stop, k_stop) for (queries, keys), q_stop, k_stop in zip(lengths_of(q_ends, k_ends), q_ends, k_ends) if queries or keys]
    width = query._ms_shape[2]
    whole = -(-width // STEP) * STEP
    parts: tuple[Any, ...] = (query, key, value)
    if whole != width:  # zeros change no product
        parts = tuple(constant_pad_nd(item, (0, whole - width)) for item in parts)
    args = (tuple(stop for stop, _ in ends), tuple(stop for _, stop in ends), float(scale), (corner, before, after))
    found, top, total = apply(_packed, query._ms_dtype, parts, args)
    return [found if whole == width else contiguous(views.narrow(found, 2, 0, width)), top, total]


__all__ = ["FAR", "fits_packed", "lengths_of", "packed_attention"]
