"""torch.multiprocessing.spawn: starts processes, and re-raises their exceptions."""
from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait
from typing import Any

from .._src.core.warned import warn
from ._process import die_with_parent

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_PATIENCE = 30.0  # seconds between terminating a process and killing it

_MOST_TEXT = 1 << 24  # maximum number of characters of an error that are shown

log = logging.getLogger(__name__)

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
    "start_processes",
]  # fmt: skip


class ProcessException(Exception):
    """Raised when a process failed; it has the process's index and pid."""

    __slots__ = ["error_index", "error_pid"]

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """Raised when a process raised an exception; the message contains its traceback."""


class ProcessExitedException(ProcessException):
    """Raised when a process ended by a signal or with an exit code."""

    __slots__ = ["exit_code"]

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], number: int, args: Sequence[Any], error_file: str) -> None:
    """Run the function in the new process. An error is written to a file: a pipe that nobody reads could block the process."""
    die_with_parent(signal.SIGINT)
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass
    except Exception:  # noqa: BLE001 - whatever it is, the process that waits raises it
        with open(error_file, "w", encoding="utf-8", errors="replace") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


def _read_error(path: str) -> str:
    """Return the error that a process wrote, possibly incomplete."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_TEXT)
        os.unlink(path)
    except OSError:
        return ""
    return text


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the pids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one or more processes have ended; return whether all have ended successfully.

        If one fails, the others are terminated after ``grace_period`` seconds, and ProcessRaisedException or ProcessExitedException is
        raised.
        """
        if not self.sentinels:
            return True
        for sentinel in wait(list(self.sentinels), timeout):
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode:
                self._end(grace_period)
                raise self._failure(number)
        return not self.sentinels

    def _wait(self, seconds: float) -> list[Any]:
        """Wait for some seconds; return the processes that are still alive."""
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
        return [process for process in self.processes if process.is_alive()]

    def _end(self, grace_period: float | None) -> None:
        for process in self._wait(grace_period or 0.0):
            log.warning("Terminating process %s via signal SIGTERM", process.pid)
            process.terminate()
        for process in self._wait(_PATIENCE if grace_period is None else grace_period):
            log.warning("Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL", process.pid)
            process.kill()
            process.join()

    def _failure(self, number: int) -> ProcessException:
        pid, code, path = self.processes[number].pid, self.processes[number].exitcode, self.error_files[number]
        text = _read_error(path)
        if text:
            return ProcessRaisedException(f"\n\n-- Process {number} terminated with the following error:\n{text}", number, pid)
        if code >= 0:
            return ProcessExitedException(f"process {number} terminated with exit code {code}", number, pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(f"process {number} terminated with signal {name}", number, pid, code, name)


class SpawnContext(ProcessContext):
    """Deprecated name of ProcessContext."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warn("SpawnContext is renamed to ProcessContext since 1.4 release.")
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes; with ``join`` wait for them, else return their ProcessContext."""
    context: Any = multiprocessing.get_context(start_method)

    def start(number: int) -> tuple[Any, str]:
        descriptor, path = tempfile.mkstemp(prefix="pytorch-errorfile-", suffix=".pickle")
        os.close(descriptor)
        os.unlink(path)
        process = context.Process(target=_run, args=(fn, number, args, path), daemon=daemon)
        process.start()
        return process, path

    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1":
        with ThreadPoolExecutor(max_workers=nprocs) as executor:
            started = list(executor.map(start, range(nprocs)))
    else:
        started = [start(number) for number in range(nprocs)]
    found = ProcessContext([process for process, _ in started], [path for _, path in started])
    if not join:
        return found
    while not found.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Start processes like `start_processes`, with new interpreters, so that ``fn`` must be defined at module level."""
    if start_method != "spawn":
        warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
