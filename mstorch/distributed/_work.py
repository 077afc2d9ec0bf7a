"""Work: a handle of a running communication, and the thread that runs a group's communications in order."""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..futures import Future
from ..multiprocessing._process import set_thread_name

_NO_TIMEOUT = timedelta(0)


class Work:
    """A handle of a running communication. ``wait`` waits for it and raises its error."""

    def __init__(self, result: Sequence[Any] | None = None, source: int = -1) -> None:
        self._result = result
        self._source = source
        self._error: BaseException | None = None
        self._done = False
        self._lock = threading.RLock()  # use ``with`` on this lock: entering the Condition can be interrupted after locking
        self._changed = threading.Condition(self._lock)
        self._future: Future[Any] | None = None

    def _finish(self, error: BaseException | None = None) -> None:
        with self._lock:
            self._error, self._done = error, True
            future = self._future
            self._changed.notify_all()
        if future is not None:
            self._settle(future)

    def _settle(self, future: Future[Any]) -> None:
        if self._error is None:
            future.set_result(self._result)
        else:
            future._finish(None, self._error)

    def _until(self, timeout: timedelta) -> None:
        with self._lock:
            if not self._changed.wait_for(lambda: self._done, timeout.total_seconds() if timeout > _NO_TIMEOUT else None):
                raise RuntimeError(f"Operation timed out after {timeout.total_seconds() * 1000:.0f} ms")

    def wait(self, timeout: timedelta = _NO_TIMEOUT) -> bool:
        """Return True when the communication has completed. Raise RuntimeError if it failed, or on a timeout."""
        self._until(timeout)
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """Wait for the communication."""
        self.wait()

    def block_current_stream(self) -> None:
        """Wait for the communication on the host, which has no streams."""
        self.wait()

    def is_completed(self) -> bool:
        """Return whether the communication has completed, successfully or not."""
        return self._done

    def is_success(self) -> bool:
        """Return whether it completed without an error."""
        return self._done and self._error is None

    def exception(self) -> BaseException | None:
        """Return the error, or None."""
        return self._error

    def result(self) -> Any:
        """Return the output tensors."""
        return self._result

    def source_rank(self) -> int:
        """Return the rank from which a tensor was received."""
        return self._source

    def get_future(self) -> Future[Any]:
        """Return a future of the output tensors."""
        with self._lock:
            if self._future is None:
                self._future = Future()
                if self._done:
                    self._settle(self._future)
            return self._future


class Runner:
    """Runs functions in the order of submission: in the calling thread until one may block, then in a thread of its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()  # use ``with`` on this lock: entering the Condition can be interrupted after locking
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[tuple[Callable[[], None], Work]] = deque()
        self._turn = threading.Lock()  # held while a function runs
        self._busy = False  # whether the thread is running a function
        self._started = False
        self._ended = False

    def submit(self, function: Callable[[], None], result: Sequence[Any] | None) -> Work:
        """Queue a function for the thread and return its Work."""
        work = Work(result)
        with self._lock:
            self._waiting.append((function, work))
            if not self._started:
                self._started = True
                threading.Thread(target=self._loop, daemon=True, name=self._name).start()
            self._changed.notify_all()
        return work

    def run(self, function: Callable[[], None]) -> None:
        """Run a function and wait for it: inline, if the thread is idle."""
        with self._lock:
            free = not self._busy and not self._waiting
        if not free:
            self.submit(function, None).wait()
            return
        with self._turn:
            function()

    def _loop(self) -> None:
        set_thread_name("pg_worker")
        while True:
            with self._lock:
                self._changed.wait_for(lambda: self._waiting or self._ended)
                if not self._waiting:
                    return
                function, work = self._waiting.popleft()
                self._busy = True
            error: BaseException | None = None
            try:
                with self._turn:
                    function()
            except Exception as raised:  # noqa: BLE001 - whoever waits for the work gets it
                error = raised
            with self._lock:
                self._busy = False
            work._finish(error)
            del function, work

    def end(self) -> None:
        """Let the thread end when its queue is empty."""
        with self._lock:
            self._ended = True
            self._changed.notify_all()
