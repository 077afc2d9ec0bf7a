"""Draw words and transform them to samples, block by block, on two threads.

Words are sequential, so one thread draws them; meanwhile a worker transforms the previous block (NumPy releases the GIL in both). The
result does not depend on scheduling.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .engine import Engine

BLOCK_BYTES = 1 << 20  # bytes of words per block: passing a block to the worker takes 15 µs, much less than drawing it

_HALF = np.array(32, np.uint64)


@cache
def _worker() -> ThreadPoolExecutor | None:
    """Return a pool of one thread, or None without a second processor."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(1, thread_name_prefix="mstorch-random") if processors > 1 else None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_worker.cache_clear)  # a thread does not survive a fork


def fill(
    engine: Engine,
    out: NDArray[Any],
    words_per_sample: Literal[1, 2],
    transform: Callable[[NDArray[Any], NDArray[Any]], object],
    block_bytes: int = BLOCK_BYTES,
) -> NDArray[Any]:
    """Fill the one-dimensional `out` with samples from the engine's next words, and return it.

    transform(words, part) writes the samples of as many words (pairs of words, as uint64, if words_per_sample is 2) to a part of `out`; it
    may overwrite the words.
    """
    if out.size == 0:
        return out
    block = block_bytes // (4 * words_per_sample)
    if out.size <= block:
        transform(engine.words32(out.size) if words_per_sample == 1 else engine.words64(out.size), out)
        return out

    def transform_pairs(pairs: NDArray[np.uint64], part: NDArray[Any]) -> None:
        transform(_words_of_pairs(pairs) if words_per_sample == 1 else pairs, part)

    worker = _worker()
    pending: Future[object] | None = None
    for start in range(0, out.size, block):
        part = out[start : start + block]
        if part.size * words_per_sample % 2:
            transform(engine.words32(part.size), part)
            break
        pairs = engine.words64(part.size * words_per_sample // 2)
        if worker is not None and (pending is None or pending.done()):
            if pending is not None:
                pending.result()  # raises what the worker raised
            try:
                pending = worker.submit(transform_pairs, pairs, part)
            except RuntimeError:  # the interpreter is shutting down, and the pool accepts no work
                worker = None
                transform_pairs(pairs, part)
        else:
            transform_pairs(pairs, part)
    if pending is not None:
        pending.result()
    return out


def _words_of_pairs(pairs: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the words in drawing order, from pairs whose high half was drawn first; overwrites the pairs.

    NumPy draws a pair in a tenth less time than two words, and this costs the drawing thread nothing.
    """
    if sys.byteorder == "little":
        first = pairs >> _HALF
        pairs <<= _HALF
        pairs |= first
    return pairs.view(np.uint32)
