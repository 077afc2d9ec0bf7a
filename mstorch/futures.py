"""torch.futures: results of asynchronous work."""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

_log = logging.getLogger(__name__)
T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """Result that is set once, by any thread. ``devices`` has no effect."""

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._devices = list(devices or ())
        self._lock = threading.RLock()  # use ``with`` on this lock: entering the Condition can be interrupted after locking
        self._changed = threading.Condition(self._lock)
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Return whether a result or an error has been set."""
        with self._lock:
            return self._done

    def wait(self) -> T:
        """Wait for the result and return it; raise the error if one was set instead."""
        if deferred.pending:
            deferred.bring()
        with self._lock:
            while not self._done:
                self._changed.wait()
        return self.value()

    def value(self) -> T:
        """Return the result. Raise the error that was set instead of a result, or RuntimeError if neither is set yet."""
        with self._lock:
            if not self._done:
                raise RuntimeError("torch.futures.Future.value() called before the future is done")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Set the result and run the callbacks. Raise RuntimeError if one is set already."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which ``wait`` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            waiting, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in waiting:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        """Run a callback; log its error, which reaches nobody, as in torch."""
        try:
            callback(self)
        except Exception as error:  # noqa: BLE001 - whatever the callback raises is logged
            _log.error("Got the following error when running the callback: %s: %s", type(error).__name__, error)

    def __reduce__(self) -> str:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Register ``callback(self)``, called when the future is done, or immediately if it is."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return a future of ``callback(self)``, which is called when this one is done."""
        following: Future[S] = Future(devices=self._devices)

        def follow(done: Future[T]) -> None:
            try:
                value = callback(done)
            except Exception as error:  # noqa: BLE001 - whatever the callback raises is the following future's error
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(text)
                failure.__cause__ = error
                following.set_exception(failure)
            else:
                following.set_result(value)

        self.add_done_callback(follow)
        return following


class _Deferred(threading.local):
    """Thread-local futures that are completed only when waited for, each with the function that completes it. None: futures complete
    immediately.
    """

    pending: list[tuple[Future[Any], Callable[[], Any]]] | None = None

    def bring(self) -> None:
        """Complete all deferred futures."""
        pending = self.pending
        while pending:
            future, fetch = pending.pop(0)
            try:
                value = fetch()
            except Exception as error:  # noqa: BLE001 - whoever waits for the future gets it
                future.set_exception(error)
            else:
                future.set_result(value)


deferred = _Deferred()


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the list of results, done when all futures are done; it fails with the error of the first failed future in the
    list.
    """
    together: Future[list[Future[Any]]] = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def one_less(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            error = next((future._error for future in futures if future._error is not None), None)
            if error is None:
                together.set_result(futures)
            else:
                together._finish(None, error)

    if not futures:
        together.set_result(futures)
    for future in futures:
        future.add_done_callback(one_less)
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their results."""
    return [future.wait() for future in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
