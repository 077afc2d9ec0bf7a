"""Local agent of a job: starts this machine's processes, watches them, ends them together and restarts them."""
from __future__ import annotations

import dataclasses
import functools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import IO, Any

from ._tcp_store import TCPStore
from .elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

LAUNCHED = "MSTORCH_LAUNCHED"  # makes `python -m mstorch` end with the launcher
_GRACE = 10.0  # seconds between terminating a process and killing it
_OUT, _ERR = 1, 2
_LINE = 1 << 16  # bytes of a process's output that are buffered until the end of the line


@dataclasses.dataclass
class Job:
    """A command that runs in several processes on each of one or more machines."""

    command: Sequence[str]
    name: str
    processes: int
    nodes: int = 1
    node_rank: int = 0
    address: str = "127.0.0.1"
    port: int = 0
    run_id: str = "none"
    role: str = "default"
    max_restarts: int = 0
    interval: float = 0.1
    grace: float = _GRACE
    log_dir: str | None = None
    redirects: dict[int, int] = dataclasses.field(default_factory=dict)
    tee: dict[int, int] = dataclasses.field(default_factory=dict)
    shown: set[int] | None = None
    signals: Sequence[str] = ("SIGTERM", "SIGINT")


class _Asked(Exception):
    """Raised when the launcher receives a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Agent:
    """Runs a job. Raises ChildFailedError when the job fails after its last restart."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.store: Any = None
        self.processes: list[subprocess.Popen[bytes]] = []
        self.files: list[IO[bytes]] = []
        self.copying: list[threading.Thread] = []

    def run(self) -> None:
        """Start the processes and wait until all have exited with code 0."""
        job = self.job
        if job.node_rank == 0:
            self.store = TCPStore(job.address, job.port, None, True, timedelta(minutes=15))
            job.port = self.store.port
        before = {name: signal.signal(getattr(signal, name), self._asked) for name in job.signals if _can_handle()}
        try:
            with tempfile.TemporaryDirectory(prefix="mstorch_run_") as folder:
                for attempt in range(job.max_restarts + 1):
                    failures = self._once(attempt, folder)
                    if not failures:
                        return
                    left = job.max_restarts - attempt
                    cause = min(failures.items(), key=lambda item: item[1].timestamp)[1]
                    print(
                        f"[mstorch.distributed.run] failed (exitcode: {cause.exitcode}) local_rank: {cause.local_rank} "
                        f"(pid: {cause.pid}) of {job.name}; {left} restart(s) left",
                        file=sys.stderr, flush=True,
                    )  # fmt: skip
                raise ChildFailedError(job.name, failures)
        except _Asked as asked:
            self._end(asked.number)
            raise SystemExit(128 + asked.number) from None
        finally:
            self._end()
            for name, handler in before.items():
                signal.signal(getattr(signal, name), handler)

    def _asked(self, number: int, frame: Any) -> None:
        raise _Asked(number)

    def _environment(self, number: int, attempt: int, error_file: str) -> dict[str, str]:
        job = self.job
        size = job.processes * job.nodes
        rank = job.node_rank * job.processes + number
        found = dict(os.environ)
        found.update({
            "LOCAL_RANK": str(number), "RANK": str(rank), "GROUP_RANK": str(job.node_rank), "ROLE_RANK": str(rank),
            "ROLE_NAME": job.role, "LOCAL_WORLD_SIZE": str(job.processes), "WORLD_SIZE": str(size), "GROUP_WORLD_SIZE": str(job.nodes),
            "ROLE_WORLD_SIZE": str(size), "MASTER_ADDR": job.address, "MASTER_PORT": str(job.port),
            "TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(job.max_restarts),
            "TORCHELASTIC_RUN_ID": job.run_id, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_ERROR_FILE": error_file,
            "MSTORCH_HOOK": "1", LAUNCHED: str(os.getpid()),
        })  # fmt: skip
        if job.processes > 1:
            found.setdefault("OMP_NUM_THREADS", "1")
        return found

    def _once(self, attempt: int, folder: str) -> dict[int, ProcessFailure]:
        """Start all processes and wait until all have exited or one has failed; then terminate the rest."""
        job = self.job
        paths = [os.path.join(folder, f"error_{attempt}_{number}.json") for number in range(job.processes)]
        self.processes = []
        for number in range(job.processes):
            out, err = self._streams(number, attempt)
            self.processes.append(subprocess.Popen(
                list(job.command), env=self._environment(number, attempt, paths[number]), stdout=out[0], stderr=err[0],
                start_new_session=True,
            ))  # fmt: skip
            for stream, (_, copy) in ((self.processes[-1].stdout, out), (self.processes[-1].stderr, err)):
                if copy is not None and stream is not None:
                    self._copy(stream, copy)
        failed: list[int] = []
        while not failed and any(process.poll() is None for process in self.processes):
            failed = [number for number, process in enumerate(self.processes) if process.poll() not in (None, 0)]
            if not failed:
                time.sleep(job.interval)
        failed = [number for number, process in enumerate(self.processes) if process.poll() not in (None, 0)]
        found = {}
        first = job.node_rank * job.processes
        for number in failed:
            process = self.processes[number]
            found[first + number] = ProcessFailure(number, process.pid, int(process.returncode), paths[number])
        running = [number for number, process in enumerate(self.processes) if process.poll() is None]
        self._end()
        for number in running:
            process = self.processes[number]
            if found and process.returncode:
                later = ProcessFailure(number, process.pid, int(process.returncode), paths[number])
                later.timestamp += 1
                found[first + number] = later
        return found

    def _streams(self, number: int, attempt: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return the destinations of a process's stdout and stderr, each with the thread that copies the stream."""
        return self._stream(number, attempt, _OUT, "stdout"), self._stream(number, attempt, _ERR, "stderr")

    def _stream(self, number: int, attempt: int, bit: int, name: str) -> tuple[Any, Any]:
        job = self.job
        shown = job.shown is None or number in job.shown
        redirected, copied = job.redirects.get(number, 0) & bit, job.tee.get(number, 0) & bit
        if not redirected and not copied:
            return (None if shown else subprocess.DEVNULL), None
        base = job.log_dir or tempfile.mkdtemp(prefix="torchelastic_")
        job.log_dir = base
        folder = os.path.join(base, job.run_id, f"attempt_{attempt}", str(number))
        os.makedirs(folder, exist_ok=True)
        file = open(os.path.join(folder, f"{name}.log"), "wb")
        self.files.append(file)
        if not copied:
            return file, None
        screen = getattr(sys, name) if shown else None
        prefix = f"[{job.role}{job.node_rank * job.processes + number}]:".encode()

        def copy(line: bytes) -> None:
            file.write(line)
            file.flush()
            if screen is not None:
                screen.write((prefix + line).decode(errors="replace"))
                screen.flush()

        return subprocess.PIPE, copy

    def _copy(self, stream: IO[bytes], copy: Callable[[bytes], None]) -> None:
        def run() -> None:
            for line in iter(functools.partial(stream.readline, _LINE), b""):
                copy(line)
            stream.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.copying.append(thread)

    def _end(self, number: int = signal.SIGTERM) -> None:
        """Terminate the processes that still run, and their children."""
        for process in self.processes:
            if process.poll() is None:
                _signal(process, number)
        deadline = time.monotonic() + self.job.grace
        for process in self.processes:
            try:
                process.wait(max(deadline - time.monotonic(), 0.05))
            except subprocess.TimeoutExpired:
                pass
            _signal(process, signal.SIGKILL)  # processes that the process left behind
            process.wait()
        for thread in self.copying:
            thread.join(1)
        for file in self.files:
            file.close()
        self.copying.clear()
        self.files.clear()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process and to its children, which are in its session."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _can_handle() -> bool:
    return threading.current_thread() is threading.main_thread()


