"""Padding."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from mindspore import ops

from ..device_memory import full
from ..raw import NAME_OF, Raw, from_numpy
from ..table import ALL, VIA_BOOL, VIA_HALF, define
from ._empty import filled

_gather = ops.Gather()


@lru_cache(512)
def _concat(axis: int) -> ops.Concat:
    return ops.Concat(axis)


@lru_cache(512)
def _positions(size: int, before: int, after: int, mode: str) -> Raw:
    """Return the source index of each element of a padded axis."""
    wanted = np.arange(-before, size + after)
    if mode == "replicate":
        wanted = wanted.clip(0, size - 1)
    elif mode == "circular":
        wanted = wanted % size
    elif mode == "reflect":
        period = max(2 * (size - 1), 1)
        wanted = np.abs((wanted + period // 2) % period - period // 2) if size > 1 else wanted * 0
    return from_numpy(np.ascontiguousarray(wanted, dtype=np.int32))


def _trimmed(raw: Raw, axis: int, before: int, after: int) -> Raw:
    if before >= 0 and after >= 0:
        return raw
    start, stop = max(-before, 0), raw.shape[axis] - max(-after, 0)
    return _gather(raw, from_numpy(np.arange(start, stop, dtype=np.int32)), axis)


def composed_pad(raw: Raw, pads: tuple[int, ...], value: float) -> Raw:
    """Pad with a constant, or crop where a pad is negative. ``pads`` has a pair (before, after) for each dimension, from the last
    backwards."""
    rank = len(raw.shape)
    name = NAME_OF[raw.dtype]
    out = list(raw.shape)
    for i in range(len(pads) // 2):
        out[rank - 1 - i] += pads[2 * i] + pads[2 * i + 1]
    if 0 in out or raw.size == 0:
        return filled(tuple(out), value, name, raw)
    for i in range(len(pads) // 2):
        before, after = pads[2 * i], pads[2 * i + 1]
        axis = rank - 1 - i
        raw = _trimmed(raw, axis, before, after)
        shape = list(raw.shape)
        parts = [raw]
        if before > 0:
            shape[axis] = before
            parts.insert(0, full(tuple(shape), value, name))
        if after > 0:
            shape[axis] = after
            parts.append(full(tuple(shape), value, name))
        if len(parts) > 1:
            raw = _concat(axis)(tuple(parts))
    return raw


def composed_pad_like(raw: Raw, pads: tuple[int, ...], mode: str) -> Raw:
    """Pad the last dimensions with the tensor's own elements: reflect, replicate or circular."""
    rank = len(raw.shape)
    for i in range(len(pads) // 2):
        before, after = pads[2 * i], pads[2 * i + 1]
        if before or after:
            axis = rank - 1 - i
            if mode == "circular":
                # Cropped elements are not part of the circle.
                raw = _trimmed(raw, axis, before, after)
                before, after = max(before, 0), max(after, 0)
            if raw.size == 0:
                shape = list(raw.shape)
                shape[axis] += before + after
                raw = filled(tuple(shape), 0, NAME_OF[raw.dtype], raw)
                continue
            raw = _gather(raw, _positions(raw.shape[axis], before, after, mode), axis)
    return raw


define("pad", cpu=composed_pad, dtypes=ALL, via={**VIA_BOOL, **VIA_HALF})
# Gather has no bfloat16 kernel on the CPU (MindSpore 2.10).
define("pad_like", cpu=composed_pad_like, dtypes=tuple(name for name in ALL if name != "bfloat16"), via=VIA_HALF)
