"""The DataLoader's worker process, and fetching of batches with and without workers."""

from __future__ import annotations

import os
import queue
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...random import default_generator
from ...storage import UntypedStorage
from ._fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from ._pipes import prepare_worker, reseed
from ._shared import Outbox, pickled

# Interval in seconds at which a waiting process checks that the other one is alive.
CHECK_INTERVAL = 5.0
RESTART = "restart"


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's id, the number of workers, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return this worker's WorkerInfo; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class Job:
    """The settings that all workers of a loader share."""

    dataset: Any
    iterable: bool
    batched: bool
    collate_fn: Callable[..., Any]
    drop_last: bool
    worker_init_fn: Callable[[int], None] | None
    num_workers: int
    base_seed: int
    shared_seed: int | None = None
    processes: tuple[int, int] = (1, 0)

    def fetcher(self) -> Callable[[Any], Any]:
        """Return a function from the sampler's output to collated data."""
        make = _IterableDatasetFetcher if self.iterable else _MapDatasetFetcher
        return make(self.dataset, self.batched, self.collate_fn, self.drop_last).fetch


class End:
    """Tells the main process that a worker's iterable dataset is exhausted."""

    def __init__(self, worker: int) -> None:
        self.worker = worker


class Failure:
    """A worker's exception, sent to the main process as text because tracebacks cannot be pickled."""

    def __init__(self, error: Exception, worker: int) -> None:
        self.kind = type(error)
        self.text = "".join(traceback.format_exception(error))
        self.worker = worker

    def reraise(self) -> None:
        """Raise an exception of the same type with the original traceback in its message; RuntimeError if the type cannot be constructed
        from a message.
        """
        message = f"Caught {self.kind.__name__} in DataLoader worker process {self.worker}.\nOriginal {self.text}"
        if self.kind is KeyError:
            raise KeyError(_Lines(message))
        try:
            error = self.kind(message)
        except Exception:  # noqa: BLE001 - the constructor is the user's and may do anything
            raise RuntimeError(message) from None
        raise error


class _Lines(str):
    """A string whose repr keeps line breaks, for a KeyError, which shows the repr of its key."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def numpy_seed(base_seed: int, worker_id: int) -> list[int]:
    """Return the four seed words of NumPy's generator in a worker."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(words).generate_state(4)]


def run(job: Job, worker: int, tasks, results, done, block: UntypedStorage | None) -> None:
    """Worker main loop: fetch the indices in ``tasks`` until it yields None or the parent is gone; ``block`` holds the batches."""
    global _worker_info
    parent = os.getppid()
    seed = job.base_seed + worker
    random.seed(seed)
    default_generator.manual_seed(seed)
    np.random.seed(numpy_seed(job.base_seed, worker))
    if job.shared_seed is not None:
        reseed(job.dataset, job.shared_seed)
    _worker_info = WorkerInfo(worker, job.num_workers, seed, job.dataset)

    outbox = Outbox(block)
    failure = fetch = None
    ended = interrupted = False
    try:
        prepare_worker(job.dataset, worker, job.num_workers, job.processes, job.worker_init_fn)
        fetch = job.fetcher()
    except Exception as error:  # noqa: BLE001 - whatever it is, the main process raises it
        failure = Failure(error, worker)
    try:
        while os.getppid() == parent:
            try:
                task = tasks.get(timeout=CHECK_INTERVAL)
            except queue.Empty:
                if done[0]:
                    break
                continue
            if task is None:
                break
            number, index, freed = task
            outbox.release(freed)
            if number == RESTART:
                if index is not None:
                    reseed(job.dataset, index)
                fetch = job.fetcher()
                ended = False
                results.put(pickled(outbox, (RESTART, None)))
                continue
            if done[0]:
                break
            if ended:
                continue
            outcome = failure if failure is not None else _fetched(fetch, index, job.iterable, worker)
            failure = None
            ended = isinstance(outcome, End)
            results.put(_packed(outbox, number, outcome, worker))
    except KeyboardInterrupt:
        # The main process gets the signal too, and stops reading.
        interrupted = True
    if interrupted or done[0] or os.getppid() != parent:
        # The reader is gone, so do not wait for it.
        results.cancel_join_thread()
        results.close()


def _fetched(fetch, index, iterable: bool, worker: int) -> Any:
    try:
        return fetch(index)
    except StopIteration as error:
        return End(worker) if iterable else Failure(error, worker)
    except Exception as error:  # noqa: BLE001 - whatever it is, the main process raises it
        return Failure(error, worker)


def _packed(outbox: Outbox, number: int, outcome: Any, worker: int) -> bytes:
    # Pickled here, not in the queue's thread, which would only print the error.
    try:
        return pickled(outbox, (number, outcome))
    except Exception as error:  # noqa: BLE001 - objects of the user may raise anything
        return pickled(outbox, (number, Failure(error, worker)))
