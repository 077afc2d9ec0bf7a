"""Elementwise work on long arrays in cache-sized blocks, on several threads (NumPy releases the GIL)."""
from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from .arrays import Array

# A block of this many elements stays in a core's cache over all passes; longer arrays are processed in blocks.
BLOCK = 1 << 14
LONG = 1 << 16
_PASS = 0.12  # nanoseconds per element and pass, in the cache


def _rounded(size: int, unit: int) -> int:
    """Round up to a multiple of a unit, at least to one unit."""
    return max(-(-size // unit), 1) * unit


Work = Callable[[int, int], None]


class _Here(threading.local):
    """Thread-local flag: whether this thread is a worker. Workers do not distribute their work to other threads."""

    worker = False


_here = _Here()


class _Worker:
    """Worker thread for parts of ranges. (An executor takes 10 µs more to start and to answer.)"""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[Work, int, int, SimpleQueue[BaseException | None]] | None] = SimpleQueue()
        threading.Thread(target=self.serve, name="mstorch", daemon=True).start()

    def serve(self) -> None:
        """Run tasks until the queue ends."""
        _here.worker = True
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are handled by the program's own threads
        while (task := self.tasks.get()) is not None:
            work, start, end, answers = task
            failure = None
            try:
                work(start, end)
            except BaseException as error:  # noqa: BLE001 - raised where the work was shared
                failure = error
            answers.put(failure)
            del task, work, answers, failure  # so that a waiting thread keeps no arrays alive


class _Team:
    """Set of workers, which terminate when it is garbage-collected."""

    def __init__(self, count: int) -> None:
        self.workers = [_Worker() for _ in range(count)]

    def __del__(self) -> None:
        for worker in self.workers:
            worker.tasks.put(None)


class _Threads:
    """The worker threads of this process; a forked process starts without any."""

    def __init__(self) -> None:
        self.count = min(os.cpu_count() or 1, 16)
        self.team: _Team | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Drop the threads in a forked process, which has none of them."""
        self.team = None
        self.count = 1

    def use(self, count: int) -> None:
        """Set the number of threads; calls in progress keep theirs."""
        if count != self.count:
            self.count, self.team = count, None

    def run(self, work: Work, length: int, ahead: int = 0, unit: int = 1) -> None:
        """Call ``work(start, end)`` on each thread for a part of the range; each part starts at a multiple of ``unit``.

        ``ahead``: the number of steps that this thread completes before the other threads have woken up. Its part is longer by this number,
        so that all threads finish at the same time."""
        count = self.count  # another thread may change it
        if count == 1 or _here.worker:
            work(0, length)
            return
        team = self.team
        if team is None or len(team.workers) != count - 1:
            team = self.team = _Team(count - 1)
        first = _rounded(-(-(length - ahead) // count) + ahead, unit)
        step = _rounded(-(-(length - first) // (count - 1)), unit)
        answers: SimpleQueue[BaseException | None] = SimpleQueue()
        starts = range(first, length, step)
        for worker, start in zip(team.workers, starts):
            worker.tasks.put((work, start, min(start + step, length), answers))
        try:
            work(0, min(first, length))
        finally:
            failures = [answers.get() for _ in starts]
        for failure in failures:
            if failure is not None:
                raise failure


threads = _Threads()


_WAKING = 30_000  # nanoseconds between waking a thread and its start
WORTH = 150_000  # nanoseconds from which on a call that releases the GIL is worth threads
_MANY_WORTH = 4_000_000  # the same for many short calls, whose threads compete for the GIL


def share(work: Callable[[int, int], None], length: int, nanoseconds: float, unit: int = 1) -> None:
    """Call ``work(start, end)`` for the parts of a range, on several threads if the range takes long enough; ``nanoseconds`` is the cost of
    one step.

    The parts are multiples of ``unit``.
    """
    if length < 2 or length * nanoseconds < WORTH or threads.count == 1:
        work(0, length)
    else:
        threads.run(work, length, min(int(_WAKING / nanoseconds), length // 2), unit)


def by_rows(work: Callable[[int, int], None], rows: int, width: int, passes: int) -> None:
    """Call ``work(start, end)`` for all rows: in blocks that fit the cache if the rows are long, and on several threads if that is faster.

    ``passes``: approximate number of reads and writes per element.
    """
    if rows * width < LONG:
        work(0, rows)
        return
    step = max(1, BLOCK // max(width, 1))

    def some(start: int, end: int) -> None:
        for first in range(start, end, step):
            work(first, min(first + step, end))

    on_threads(some, rows, width, passes)


def on_threads(work: Callable[[int, int], None], rows: int, width: int, passes: int) -> None:
    """Run a copy on threads like ``by_rows``, but not in blocks: many small copies take longer than a few large ones."""
    cost = width * passes * _PASS
    if rows * cost < _MANY_WORTH:
        work(0, rows)
    else:
        share(work, rows, cost)


_CACHED = 1 << 18  # elements that fit a core's larger cache


def by_blocks(work: Callable[[int, int], None], x: Array, nanoseconds: float, size: int = _CACHED) -> None:
    """Call ``work(start, end)`` for blocks of an array's first dimension, on several threads if it takes long enough; ``nanoseconds`` is
    the cost of an element, ``size`` the number of elements of a block.
    """
    each = x.size // len(x)
    some = max(1, size // each)

    def part(start: int, end: int) -> None:
        for first in range(start, end, some):
            work(first, min(first + some, end))

    share(part, len(x), each * nanoseconds, some)


Step = Callable[..., Any]
_TOGETHER = 1 << 17  # elements of several arrays that together fit a core's larger cache
_CALL = 1 << 18  # elements per call, where threads compete for the GIL


def elementwise(jobs: Sequence[tuple[Step, Sequence[Array], int]]) -> None:
    """Run the jobs ``(step, arrays, passes)``: each step writes to row-major arrays of one size, with ``passes`` reads and writes per
    element.

    The steps must be independent. Long arrays are divided among the threads in the proportions in which ``share`` divides a matrix product,
    so that each thread finds the elements that it has just written in its cache."""
    long = []
    cost = 0.0
    for step, arrays, passes in jobs:
        size = arrays[0].size
        if size < LONG:
            step(*arrays)
        else:
            long.append((step, [array.reshape(-1) for array in arrays]))
            cost += size * passes * _PASS
    if cost < WORTH or threads.count == 1:
        for step, rows in long:
            _in_blocks(step, rows, 0, rows[0].size, _TOGETHER // len(rows))
        return
    count = threads.count
    later = min(_WAKING / cost, 0.5)

    def start(part: int, size: int) -> int:
        return 0 if not part else size if part == count else int(size * (later + (1 - later) * part / count))

    def work(first: int, last: int) -> None:
        for step, rows in long:
            _in_blocks(step, rows, start(first, rows[0].size), start(last, rows[0].size), _CALL)

    threads.run(work, count)


def _in_blocks(step: Step, rows: Sequence[Array], start: int, end: int, block: int) -> None:
    for first in range(start, end, block):
        last = min(first + block, end)
        step(*[row[first:last] for row in rows])


_PASSES = 25  # number of passes that an activation counts as


def blocked(kernel: Callable[..., Array], passes: int = _PASSES) -> Callable[..., Array]:
    """Wrap an elementwise kernel, whose arguments are arrays of one shape and then numbers, to process long row-major arrays in blocks;
    ``passes`` is its cost (``by_rows``)."""

    @functools.wraps(kernel)
    def run(x: Array, *rest: Any) -> Array:
        if x.size < LONG or not x.flags.c_contiguous:
            return kernel(x, *rest)
        arrays = [x]
        for item in rest:
            if item.__class__ is np.ndarray:
                if item.shape != x.shape or not item.flags.c_contiguous:
                    return kernel(x, *rest)
                arrays.append(item)
        others = rest[len(arrays) - 1 :]
        rows = [array.reshape(-1) for array in arrays]
        out = np.empty(x.shape, x.dtype)
        line = out.reshape(-1)

        def work(start: int, end: int) -> None:
            line[start:end] = kernel(*[row[start:end] for row in rows], *others)

        by_rows(work, x.size, 1, passes)
        return out

    return run
