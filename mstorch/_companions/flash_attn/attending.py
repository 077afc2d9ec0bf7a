"""Attention of (batch, places, heads, size) with windows, soft caps and ALiBi's slopes.

scaled_dot_product_attention computes it, unless there is a cap or there are slopes, which it lacks.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import mstorch as torch

from ...nn._functional.packed_attention import FAR, fits_packed, packed_attention

Tensor = torch.Tensor


class Setting(NamedTuple):
    """The options of attention: all arguments but queries, keys and values."""

    dropout: float = 0.0
    scale: float | None = None
    causal: bool = False
    window: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    slopes: Tensor | None = None

    @property
    def reach(self) -> tuple[int, int]:
        """Number of keys before and after its own place that a query attends to; negative for all."""
        left, right = self.window
        return left, 0 if self.causal else right


class Keys(NamedTuple):
    """Which keys of each example there are: from a first to a last (both None for all), each (batch,)."""

    start: Tensor | None = None
    stop: Tensor | None = None


def check(query: Tensor, key: Tensor, value: Tensor, setting: Setting) -> None:
    """Raise RuntimeError for tensors that do not fit, or a probability of dropout that is none."""
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise RuntimeError(f"attention takes (batch, places, heads, size), got {list(query.shape)}, {list(key.shape)}, {list(value.shape)}")
    if key.shape[:3] != value.shape[:3] or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise RuntimeError(f"queries, keys and values of {list(query.shape)}, {list(key.shape)}, {list(value.shape)} do not fit")
    if key.shape[2] == 0 or query.shape[2] % key.shape[2]:
        raise RuntimeError("Number of heads in key/value must divide number of heads in query")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError("query, key and value must have the same dtype")
    if not 0.0 <= setting.dropout < 1.0:
        raise RuntimeError(f"p_dropout must be at least 0 and below 1, got {setting.dropout}")
    if setting.softcap > 0.0 and setting.dropout > 0.0:
        raise RuntimeError("Softcapping does not support dropout for now")


def _places(query: Tensor, key: Tensor, keys: Keys) -> tuple[Tensor, Tensor]:
    """Return the places of keys, and those of the queries among them, the last query at the last key: both (batch or 1, 1, queries or 1,
    keys or 1)."""
    queries, count = query.shape[1], key.shape[1]
    column = torch.arange(count, device=query.device).view(1, 1, 1, -1)
    row = torch.arange(queries, device=query.device).view(1, 1, -1, 1)
    stop: Tensor | int = count if keys.stop is None else keys.stop.view(-1, 1, 1, 1)
    return column, row + (stop - queries)


def seen(query: Tensor, key: Tensor, setting: Setting, keys: Keys) -> Tensor | None:
    """Return where a query attends to a key; None for everywhere."""
    left, right = setting.reach
    if left < 0 and right < 0 and keys.stop is None and keys.start is None:
        return None
    column, row = _places(query, key, keys)
    found: Tensor | None = None
    for limit in (
        None if left < 0 else column >= row - left, None if right < 0 else column <= row + right,
        None if keys.stop is None else column < keys.stop.view(-1, 1, 1, 1),
        None if keys.start is None else column >= keys.start.view(-1, 1, 1, 1),
    ):  # fmt: skip
        if limit is not None:
            found = limit if found is None else found & limit
    return found


def attend(query: Tensor, key: Tensor, value: Tensor, setting: Setting, keys: Keys | None = None) -> Tensor:
    """Return attention (batch, places, heads, size); a query without keys gets zeros."""
    check(query, key, value, setting)
    keys = Keys() if keys is None else keys
    scale = query.shape[-1] ** -0.5 if setting.scale is None else setting.scale
    whole = keys.start is None and keys.stop is None
    causal = whole and setting.reach == (-1, 0) and query.shape[1] == key.shape[1]
    if setting.softcap > 0.0 or setting.slopes is not None:
        return _composed(query, key, value, setting, keys, scale)[0]
    mask = None if causal else seen(query, key, setting, keys)
    return fused(query, key, value, mask, setting.dropout, causal, scale)


def attend_packed(
    query: Tensor, key: Tensor, value: Tensor, q_ends: Sequence[int], k_ends: Sequence[int], setting: Setting, corner: str = "last"
) -> Tensor | None:  # fmt: skip
    """Return attention of sequences (places, heads, size) that end at these places, by a device's kernel for all of them; None if it has
    none for the call. The first or the last query of each is at the place of its ``corner`` key."""
    left, right = setting.reach
    corner = "" if left < 0 and right < 0 else corner
    if corner == "first" and (left, right) != (-1, 0) or not fits_packed(query, key, value, q_ends, k_ends, corner):
        return None
    scale = query.shape[-1] ** -0.5 if setting.scale is None else setting.scale
    before, after = (FAR if side < 0 else side for side in (left, right))
    return packed_attention(query, key, value, q_ends, k_ends, scale, corner, before, after)[0]


def fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, causal: bool, scale: float | None
) -> Tensor:  # fmt: skip
    """Return scaled_dot_product_attention of (batch, places, heads, size); fewer heads of keys are shared. The first of ``causal`` queries
    and keys are at the same place."""
    q, k, v = (item.transpose(1, 2) for item in (query, key, value))
    groups = q.shape[1] != k.shape[1]
    found = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale=scale, enable_gqa=groups)
    return found.transpose(1, 2)


def _composed(
    query: Tensor, key: Tensor, value: Tensor, setting: Setting, keys: Keys, scale: float
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return attention, and the logarithm of each query's sum of exponentials (batch, heads, places), infinite without keys."""
    wide = query.dtype if query.dtype in (torch.float32, torch.float64) else torch.float32
    q, k, v = (item.transpose(1, 2).to(wide) for item in (query, key, value))
    if q.shape[1] != k.shape[1]:
        k, v = (item.repeat_interleave(q.shape[1] // item.shape[1], 1) for item in (k, v))
    scores = q @ k.transpose(-1, -2) * scale
    if setting.softcap > 0.0:
        scores = setting.softcap * torch.tanh(scores / setting.softcap)
    if setting.slopes is not None:
        column, row = _places(query, key, keys)
        slopes = setting.slopes.to(wide).view(-1 if setting.slopes.dim() == 2 else 1, q.shape[1], 1, 1)
        scores = scores - slopes * (row - column).abs()
    mask = seen(query, key, setting, keys)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if key.shape[1] == 0:
        return torch.zeros_like(query), torch.full(scores.shape[:-1], math.inf, device=query.device)
    top = scores.detach().amax(-1, keepdim=True)
    weights = (scores - top.masked_fill(top == -math.inf, 0)).exp()
    total = weights.sum(-1, keepdim=True)
    empty = total == 0
    sums = (total.log() + top).masked_fill(empty, math.inf).squeeze(-1)
    weights = weights / total.masked_fill(empty, 1)
    if setting.dropout:
        weights = torch.nn.functional.dropout(weights, setting.dropout, True)
    return (weights @ v).to(query.dtype).transpose(1, 2), sums.float() if wide is torch.float32 else sums


def attend_with_sums(query: Tensor, key: Tensor, value: Tensor, setting: Setting, keys: Keys | None = None) -> tuple[Tensor, Tensor]:
    """Return attention, and the logarithms of the sums of exponentials."""
    check(query, key, value, setting)
    scale = query.shape[-1] ** -0.5 if setting.scale is None else setting.scale
    return _composed(query, key, value, setting, Keys() if keys is None else keys, scale)


__all__ = ["Keys", "Setting", "attend", "attend_packed", "attend_with_sums", "check", "fused", "seen"]
