"""torch.distributed.elastic.multiprocessing.errors: errors of launched processes."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from ....._src.hook import missing as _missing

_MOST_TEXT = 1 << 24  # maximum number of characters of an error file
_HINT = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


@dataclasses.dataclass
class ProcessFailure:
    """A failed process: its local rank, its pid, its exit code (negative: a signal), its error file."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    timestamp: int = dataclasses.field(init=False)
    message: str = dataclasses.field(init=False)
    error_file_data: Any = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.timestamp, self.error_file_data = int(time.time()), {}
        if os.path.isfile(self.error_file) and self._read():
            return
        self.error_file = "<N/A>"
        self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}" if self.exitcode < 0 else _HINT

    def _read(self) -> bool:
        """Read the report in the error file; return whether the report is complete: it is not if the process was killed while writing."""
        try:
            with open(self.error_file) as file:
                found = json.loads(file.read(_MOST_TEXT))
            told = found["message"]["extraInfo"]
            self.message, self.timestamp = told["py_callstack"], int(told["timestamp"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return False
        self.error_file_data = found
        return True

    def signal_name(self) -> str:
        """Return the name of the signal that killed the process."""
        if self.exitcode >= 0:
            return ""
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<Unknown>"


def _lines(number: int, rank: int, failure: ProcessFailure) -> str:
    when = time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(failure.timestamp))
    name = f"({failure.signal_name()})" if failure.exitcode < 0 else ""
    return (
        f"[{number}]:\n  time      : {when}\n  host      : {socket.gethostname()}\n"
        f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
        f"  exitcode  : {failure.exitcode} (pid: {failure.pid}) {name}\n  error_file: {failure.error_file}\n"
        f"  traceback : {failure.message}"
    )


class ChildFailedError(Exception):
    """Raised when a launched job failed; ``failures`` maps ranks to ProcessFailures, the earliest of which is the cause."""

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure]) -> None:
        if not failures:
            raise AssertionError("at least one failure is needed")
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """Return the rank that failed first, and its ProcessFailure."""
        rank = min(self.failures, key=lambda one: self.failures[one].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """Return the report as text."""
        cause, first = self.get_first_failure()
        others = [(rank, failure) for rank, failure in self.failures.items() if rank != cause]
        rest = "\n".join(_lines(number, rank, failure) for number, (rank, failure) in enumerate(others, 1)) or "  <NO_OTHER_FAILURES>"
        border, line = boarder_delim * 60, section_delim * 60
        return (
            f"\n{border}\n{self.name} FAILED\n{line}\nFailures:\n{rest}\n{line}\nRoot Cause (first observed failure):\n"
            f"{_lines(0, cause, first)}\n{border}"
        )


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Decorate a program's main function so that its exception is written to the launcher's error file."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except ChildFailedError:
            raise
        except Exception as error:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                with open(path, "w") as file:
                    json.dump({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}, file)
            raise

    return wrapper


__getattr__ = _missing(__name__)

__all__ = ["ChildFailedError", "ProcessFailure", "record"]
