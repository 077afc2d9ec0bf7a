"""Connection to the process that runs real torch."""
from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .memories import Pickler, Sent
from .oracle import BUFFER, Message, receive, send

PYTHON = "MSTORCH_DEBUG_PYTHON"
_START = (
    "import importlib.util as u, sys; s = u.spec_from_file_location('mstorch_oracle', sys.argv[1]); m = u.module_from_spec(s); "
    "s.loader.exec_module(m); m.serve()"
)


class Client:
    """Client of real torch in a separate process, where ``import torch`` is torch itself and modes are its own.

    Raise ImportError if the Python in use (this one, or that of ``MSTORCH_DEBUG_PYTHON``) has no torch.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._version = ""
        self._begin()

    @property
    def version(self) -> str:
        """The version of torch; reading it waits until the server process has imported torch."""
        with self._lock:
            if not self._version:
                self._version = self._first()
        return self._version

    def _begin(self) -> None:
        python = os.environ.get(PYTHON) or sys.executable
        # One thread: two thread pools that wait by spinning would compete for the processors.
        environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
        environment = {name: value for name, value in environment.items() if not name.startswith("MSTORCH_")}
        try:
            self._process = subprocess.Popen(
                [python, "-c", _START, str(Path(__file__).with_name("oracle.py"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                cwd="/", env=environment, start_new_session=True, bufsize=BUFFER,
                pipesize=1 << 20,  # the maximum on Linux, so that large tensors fit into one write
            )  # fmt: skip
        except OSError as error:
            raise ImportError(_absent(python, str(error))) from error
        self._python, self._version, self._sent = python, "", Sent()

    def _first(self) -> str:
        """Return the first message of the process: the version of its torch."""
        try:
            first = receive(self._process.stdout, {})
        except EOFError as error:
            raise ImportError(_absent(self._python, str(error))) from error
        if "missing" in first:
            raise ImportError(_absent(self._python, first["missing"]))
        version: str = first["version"]
        return version

    def here(self) -> bool:
        """Return whether this process started the server. A forked child must not send requests, because they would mix with its parent's.
        """
        return os.getpid() == self._owner

    def ask(self, request: Message) -> Message:
        """Send a request and return torch's answer."""
        with self.question(request) as answer:
            return answer()

    @contextlib.contextmanager
    def question(self, request: Message) -> Iterator[Callable[[], Message]]:
        """Context manager for a request to torch; it yields a function that waits for the answer. Other threads wait until the block ends.
        """
        with self._lock:
            found: list[Message] = []

            def answer() -> Message:
                if not found:
                    found.append(self._answered(self._receive))
                return found[0]

            self._answered(self._send, request)
            try:
                yield answer
            except Exception:
                answer()  # no other thread may take the answer
                raise
            except BaseException:
                if not found:
                    self._restart()
                raise
            answer()

    def _send(self, request: Message) -> None:
        assert self.version  # the first message has been read
        data = io.BytesIO()
        Pickler(data, self._sent).dump(request)
        send(self._process.stdin, data.getbuffer())

    def _receive(self) -> Message:
        return receive(self._process.stdout, {})

    def _answered(self, step: Callable[..., Any], *args: Any) -> Any:
        """Return ``step(*args)``, which sends or receives. If the server has ended, start a new one and raise RuntimeError."""
        try:
            return step(*args)
        except (EOFError, BrokenPipeError):
            status = self._process.wait()
            self._begin()
            raise RuntimeError(
                f"mstorch: MSTORCH_DEBUG=compare: the process with real torch has ended (exit status {status}) before it answered; "
                "a negative status is the signal that killed it"
            ) from None
        except BaseException:  # Ctrl-C in the middle of a message
            self._restart()
            raise

    def _restart(self) -> None:
        """Kill the server process, which may be in the middle of a message, and start a new one."""
        self._process.kill()
        self._begin()


def _absent(python: str, why: str) -> str:
    return (
        f"mstorch: MSTORCH_DEBUG=compare needs real torch, which {python} does not have ({why}). Install it (pip install torch), or let "
        f"{PYTHON} name a Python that has it."
    )
