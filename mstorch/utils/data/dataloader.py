"""DataLoader: an iterable over batches of a dataset, fetched in this process or by workers."""

from __future__ import annotations

import atexit
import functools
import itertools
import math
import multiprocessing
import multiprocessing.context
import operator
import os
import pickle
import queue
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from ..._src.core.warned import warn
from ..._src.leaving import built_in_call
from ...accelerator import is_available
from ...storage import UntypedStorage
from ._collate import default_collate, default_convert
from ._fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from ._pipes import draw_shared_seed, is_pipe, new_group, prepare_worker, reseed, world, wrapped
from ._shared import Inbox
from ._signals import unwatch, watch
from ._utils.pin_memory import pin_memory
from ._worker import CHECK_INTERVAL, RESTART, End, Failure, Job, get_worker_info, run
from .datapipes.datapipe import IterDataPipe
from .dataset import Dataset, IterableDataset
from .graph_settings import apply_sharding, apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, _draw_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")
_collate_fn_t = Callable[[list[_T]], Any]


_worker_init_fn_t = Callable[[int], None]


def _sharding_worker_init_fn(worker_init_fn: _worker_init_fn_t | None, world_size: int, rank_id: int, worker_id: int) -> None:
    """Shard a datapipe in a worker, then call the user's ``worker_init_fn``."""
    info = get_worker_info()
    if info is None:
        raise AssertionError("Worker info is None in sharding worker init function")
    if not is_pipe(info.dataset):
        raise AssertionError("datapipe must be an instance of IterDataPipe or MapDataPipe")
    prepare_worker(info.dataset, worker_id, info.num_workers, (world_size, rank_id), worker_init_fn)


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> Any:
        """Return the fetcher for datasets of this kind (map-style or iterable)."""
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[Any]):
    """The sampler of an IterableDataset, which has no indices: it yields None forever."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """An iterable over batches of ``dataset``.

    The arguments are torch's. ``batch_size=None`` yields single samples. Each iteration draws one seed for its workers and, to shuffle, one
    more for the order, as torch does. Raises ValueError for options that exclude each other. Differs from torch: memory is not pinned;
    a forked worker raises RuntimeError for an operation or gradient without a host kernel, which a spawned worker can run.
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler[Any] | Iterable[Any]
    pin_memory_device: str
    prefetch_factor: int | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = wrapped(dataset)
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        iterable = isinstance(dataset, IterableDataset)
        if isinstance(dataset, IterDataPipe):
            # As in torch, a shuffle appended here has no effect.
            apply_shuffle_settings(dataset, shuffle=shuffle)
            _check_iterable_options(None, sampler, batch_sampler)
        elif iterable:
            _check_iterable_options(shuffle, sampler, batch_sampler)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        _check_batch_options(batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
            drop_last = False
        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        self.__initialized = True
        self.check_worker_number_rationality()

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than CPUs for this process."""
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (cpus is None or self.num_workers > cpus):
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {cpus}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
            )

    @property
    def multiprocessing_context(self):
        """The multiprocessing context of workers; None for the default, and without workers."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context) -> None:
        if multiprocessing_context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                    f"but got num_workers={self.num_workers}"
                )
            multiprocessing_context = _context_of(multiprocessing_context)
        self.__multiprocessing_context = multiprocessing_context

    def __setattr__(self, attr, val) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and attr in fixed:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        if self._iterator is None:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # Stored, because an iterable dataset that yields more than its length causes a warning.
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


def _check_worker_options(num_workers: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable_options(shuffle, sampler, batch_sampler) -> None:
    expected = "DataLoader with IterableDataset: expected unspecified "
    if shuffle not in {False, None}:
        raise ValueError(f"{expected}shuffle option, but got shuffle={shuffle}")
    if sampler is not None:
        raise ValueError(f"{expected}sampler option, but got sampler={sampler}")
    if batch_sampler is not None:
        raise ValueError(f"{expected}batch_sampler option, but got batch_sampler={batch_sampler}")


def _check_batch_options(batch_size, shuffle: bool, sampler, batch_sampler, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _context_of(context):
    if isinstance(context, str):
        valid = multiprocessing.get_all_start_methods()
        if context not in valid:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{valid!r}, but got multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    return context


class _BaseDataLoaderIter:
    """One iteration over a loader; a subclass implements the source of the data."""

    # The attributes have torch's names: packages (torchdata) derive resumable loaders from this class.
    def __init__(self, loader: DataLoader[Any]) -> None:
        self._pin_memory = loader.pin_memory and is_available()
        self._pin_memory_device: str | None = None
        if loader.pin_memory and not self._pin_memory:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
            )
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation, self._collate_fn, self._drop_last = loader._auto_collation, loader.collate_fn, loader.drop_last
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._index_sampler = loader._index_sampler
        self._pg = new_group() if isinstance(self._dataset, IterDataPipe) else None
        self._world_size, self._rank = world() if is_pipe(loader.dataset) else (1, 0)
        self._shared_seed = self._draw_shared_seed(loader)
        self._begin_pass(loader)
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        # Drawn without workers too, so that later numbers of the generator are the same as in torch.
        self._base_seed = _draw_seed(loader.generator)

    def _draw_shared_seed(self, loader: DataLoader[Any]) -> int | None:
        """Draw a seed that all processes share, seed the random datapipes with it, and return it; return None if the dataset is not a
        datapipe.
        """
        if not isinstance(self._dataset, IterDataPipe):
            return None
        seed = draw_shared_seed(loader.generator, self._pg)
        reseed(self._dataset, seed)
        return seed

    def _begin_pass(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._num_yielded = 0

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Start another iteration."""
        self._begin_pass(loader)
        self._shared_seed = self._draw_shared_seed(loader)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)  # StopIteration at its end

    def _job(self, loader: DataLoader[Any]) -> Job:
        return Job(
            loader.dataset,
            self._dataset_kind == _DatasetKind.Iterable,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            loader.worker_init_fn,
            loader.num_workers,
            self._base_seed,
            self._shared_seed,
            (self._world_size, self._rank),
        )

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        said = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and said is not None and self._num_yielded > said:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be {said}"
                f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker. Please see "
                    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
                )
            warn(message)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        super().__init__(loader)
        if is_pipe(loader.dataset):
            apply_sharding(self._dataset, self._world_size, self._rank)  # type: ignore[arg-type]
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        data = self._dataset_fetcher.fetch(self._next_index())
        return pin_memory(data) if self._pin_memory else data


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends numbered batches to the workers in rotation, and buffers results until it is their number's turn."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._workers: list[Any] = []
        self._end: Callable[[], None] | None = None  # tells the workers to end: a built-in function, which cannot be interrupted
        self._process = os.getpid()
        super().__init__(loader)
        self._in_order = loader.in_order
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._ahead = loader.num_workers * loader.prefetch_factor
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._worker_result_queue = context.Queue()
        # A plain byte: a worker that is killed while it checks an Event keeps the Event's lock, and an interrupt in
        # multiprocessing's allocator breaks it for good.
        done = UntypedStorage(1).fill_(0).share_memory_()
        self._end = functools.partial(operator.setitem, done._bytes(), 0, 1)
        self._index_queues = [context.Queue() for _ in range(loader.num_workers)]
        for tasks in self._index_queues:
            # An interrupt may come between a `put` and its notification: the program's end must not wait for the queue's thread.
            tasks.cancel_join_thread()
        job = self._job(loader)
        self._inboxes = [Inbox() for _ in self._index_queues]
        for number, (tasks, inbox) in enumerate(zip(self._index_queues, self._inboxes, strict=True)):
            arguments = (job, number, tasks, self._worker_result_queue, done, inbox.block)
            process = context.Process(target=run, args=arguments, daemon=True)
            process.start()
            self._workers.append(process)
        watch(id(self), [worker.pid for worker in self._workers])
        _RUNNING.add(self)
        # Drawn once more than it is used, as in torch.
        self._draw_shared_seed(loader)
        self._prime()

    def _prime(self) -> None:
        self._workers_status = [True] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        self._send_idx = self._rcvd_idx = 0
        self._owner: dict[int, int] = {}
        self._waiting: dict[int, Any] = {}
        for _ in range(self._ahead):
            self._try_put_index()

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Start another iteration with the same workers; pending results of the last one are discarded."""
        super()._reset(loader, first_iter)
        for tasks, inbox in zip(self._index_queues, self._inboxes, strict=True):
            tasks.put((RESTART, self._shared_seed, inbox.freed()))
        restarted = 0
        while restarted < self._num_workers:
            restarted += self._receive()[0] == RESTART
        self._prime()

    def _try_put_index(self) -> None:
        worker = next((w for w in itertools.islice(self._worker_queue_idx_cycle, self._num_workers) if self._workers_status[w]), None)
        if worker is None:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._owner[self._send_idx] = worker
        self._index_queues[worker].put((self._send_idx, index, self._inboxes[worker].freed()))
        self._send_idx += 1

    @property
    def _task_info(self) -> dict[int, tuple[Any, ...]]:
        """Dict from the number of a pending batch to (worker,), or to (worker, data) if its data has arrived."""
        return {number: (worker, *([self._waiting[number]] if number in self._waiting else [])) for number, worker in self._owner.items()}

    @property
    def _tasks_outstanding(self) -> int:
        """Return how many batches were asked for and have not arrived."""
        return len(self._owner) - len(self._waiting)

    def _next_data(self) -> Any:
        while True:
            self._skip_lost()
            if self._rcvd_idx in self._waiting:
                return self._give(self._rcvd_idx, self._waiting.pop(self._rcvd_idx))
            if not self._owner:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            number, data = self._receive()
            if isinstance(data, End):
                self._workers_status[data.worker] = False
                self._owner.pop(number, None)
                self._try_put_index()
            elif number == self._rcvd_idx or not self._in_order:
                return self._give(number, data)
            else:
                self._waiting[number] = data

    def _skip_lost(self) -> None:
        """Skip batch numbers that were assigned to exhausted workers and will not arrive."""
        while self._rcvd_idx < self._send_idx and self._rcvd_idx not in self._waiting:
            owner = self._owner.get(self._rcvd_idx)
            if owner is not None and self._workers_status[owner]:
                return
            self._owner.pop(self._rcvd_idx, None)
            self._rcvd_idx += 1

    def _give(self, number: int, data: Any) -> Any:
        del self._owner[number]
        if number == self._rcvd_idx:
            self._rcvd_idx += 1
        self._try_put_index()
        if isinstance(data, Failure):
            data.reraise()
        return pin_memory(data) if self._pin_memory else data

    def _receive(self) -> tuple[Any, Any]:
        began = time.monotonic()
        while True:
            wait = min(self._timeout or CHECK_INTERVAL, CHECK_INTERVAL)
            try:
                return pickle.loads(self._worker_result_queue.get(timeout=wait))
            except (queue.Empty, RuntimeError) as error:
                workers = zip(self._workers, self._workers_status, strict=True)
                dead = [str(worker.pid) for worker, active in workers if active and not worker.is_alive()]
                if dead:
                    self._shutdown_workers()
                    raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(dead)}) exited unexpectedly") from error
                if isinstance(error, RuntimeError):
                    raise
                if self._timeout and time.monotonic() - began >= self._timeout:
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None

    def _shutdown_workers(self) -> None:
        # A worker that is forked later has a copy of this object, and must not end the other workers.
        if os.getpid() != self._process:
            return
        if self._end is not None:
            self._end()  # first, so that the workers end even if an interrupt follows, also a worker that is not in the list yet
            self._end = None
        if not self._workers:
            return
        unwatch(id(self))
        for channel in (*self._index_queues, self._worker_result_queue):
            _free(channel)
        for tasks in self._index_queues:
            tasks.put(None)
        while self._workers:
            worker = self._workers.pop()
            worker.join(timeout=CHECK_INTERVAL)
            if worker.is_alive():
                worker.terminate()
        self._worker_result_queue.cancel_join_thread()
        for channel in (*self._index_queues, self._worker_result_queue):
            channel.close()
        # An interrupt in `__del__` would be lost, so that after a regular end it calls a built-in function.
        vars(self)["_shutdown_workers"] = tuple

    __del__ = built_in_call("_shutdown_workers")


def _free(channel: Any) -> None:
    """Release a queue's lock that an interrupted ``put`` left held; closing the queue, also at exit, would deadlock."""
    lock = channel._notempty  # the queue itself holds it for short times only
    lock.acquire(timeout=1.0)
    lock.release()


_RUNNING: weakref.WeakSet[_MultiProcessingDataLoaderIter] = weakref.WeakSet()


@atexit.register
def _shut_down_all() -> None:
    """Shut down the workers before the interpreter exits, while their queues can still be closed."""
    for running in list(_RUNNING):
        running._shutdown_workers()


_share_dist_seed = draw_shared_seed
_get_distributed_settings = world
