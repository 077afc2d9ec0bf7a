"""Programs in children of a process that has imported a library: MindSpore's import is three quarters of mstorch's, which takes a core 2
seconds.

The rest is as in a process of its own: a program has the environment that is given, and ends as any other.
What looks at an import, or kills processes by name, is not for here.
"""
from __future__ import annotations

import atexit
import gc
import importlib
import json
import multiprocessing.process
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_READ_BY_MINDSPORE = ("GLOG_", "KMP_", "LD_", "MALLOC_", "MS_", "OMP_", "ONEDNN_", "PYTHON")
_READ_BY_MSTORCH = (*_READ_BY_MINDSPORE, "ASCEND_LAUNCH", "MSTORCH_", "TORCH_")
_READ_LATE = ("MSTORCH_FAKE_DEVICES", "PYTHONPATH", "PYTHONUNBUFFERED")
_MOST = 4  # the number of servers at a time, with some hundred megabytes each
_servers: dict[tuple[Any, ...], _Server] = {}


class Process:
    """A program that runs in a child of a server, as ``subprocess.Popen`` has it: ``pid``, ``returncode``, ``poll``, ``wait``, ``kill``."""

    def __init__(self, server: _Server, pid: int, out: str) -> None:
        self._server = server
        self._out = Path(out)
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None as long as the program runs."""
        if self.returncode is None:
            self._server.listen(0)
            self.returncode = self._server.ended.pop(self.pid, None)
        return self.returncode

    def wait(self) -> int:
        """Wait for the program's end; return its exit code."""
        while self.poll() is None:
            self._server.listen(None)
        assert self.returncode is not None
        return self.returncode

    def wait_for_lines(self, count: int) -> None:
        """Wait until the program has printed so many lines; raise AssertionError if it ends before."""
        while not self._out.exists() or self._out.read_bytes().count(b"\n") < count:
            assert self.poll() is None, f"the program has ended with {self.returncode}"
            time.sleep(0.005)

    def kill(self) -> None:
        """End the program at once if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class _Server:
    """The process that programs are forked from. It answers a request by a pid, and tells the exit codes of ended programs by pid."""

    def __init__(self, library: str, environment: Mapping[str, str]) -> None:
        start = [sys.executable, "-m", "tests.warm", library]
        environment = {**environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}  # a program's own folders are removed
        self.process = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment)
        self.ended: dict[int, int] = {}
        self.running = 0
        self._started: int | None = None
        atexit.register(self.end)

    def listen(self, seconds: float | None) -> None:
        """Read the server's messages, and wait for one for at most so long (None: until one comes)."""
        assert self.process.stdout is not None
        while select.select([self.process.stdout], [], [], seconds)[0]:
            line = b""
            while not line.endswith(b"\n"):
                read = os.read(self.process.stdout.fileno(), 1)  # no message stays in a buffer that select cannot see
                assert read, "the process that programs are forked from has ended"
                line += read
            kind, *numbers = line.split()
            if kind == b"started":
                self._started = int(numbers[0])
                return
            self.ended[int(numbers[0])] = int(numbers[1])
            self.running -= 1
            seconds = 0

    def start(self, asked: dict[str, Any]) -> Process:
        assert self.process.stdin is not None
        self._started = None
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()
        while self._started is None:
            self.listen(None)
        self.running += 1
        return Process(self, self._started, asked["files"][0])

    def end(self) -> None:
        """End the process when it has no running program."""
        atexit.unregister(self.end)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def start(*command: str, environment: Mapping[str, str], out: str, error: str, library: str = "mstorch", folder: Path = ROOT, seconds: int = 3600) -> Process:
    """Start ``python *command``: ``-m`` and a module, ``-c`` and code, or a script, with arguments; ``out`` and ``error`` are files for its outputs.

    ``library`` is imported already: "mindspore", "mstorch" or "torch".
    """
    environment = {"GLOG_v": "3", **environment}
    if library == "mstorch" and np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        library = "mindspore"  # there mstorch's import computes once, which starts threads that a forked process lacks
    reads = _READ_BY_MINDSPORE if library == "mindspore" else _READ_BY_MSTORCH
    read = sorted(pair for pair in environment.items() if pair[1] and pair[0].startswith(reads) and pair[0] not in _READ_LATE)
    key = (library, bool(environment.get("MSTORCH_FAKE_DEVICE")), *read)
    server = _servers.pop(key, None)
    if server is None or server.process.poll() is not None:
        for other in [other for other, idle in _servers.items() if not idle.running][: max(0, len(_servers) - _MOST + 1)]:
            _servers.pop(other).end()
        server = _Server(library, environment)
    _servers[key] = server  # the last one is the one that was used last
    return server.start({"command": command, "environment": environment, "folder": str(folder), "files": [out, error], "seconds": seconds})


def done(
    *command: str, environment: Mapping[str, str] = os.environ, library: str = "mstorch", folder: Path = ROOT, seconds: int = 3600
) -> subprocess.CompletedProcess[str]:
    """Run ``python *command`` as ``start`` does, within ``seconds``; return its outcome."""
    with tempfile.TemporaryDirectory() as outputs:
        files = [str(Path(outputs, name)) for name in ("stdout", "stderr")]
        process = start(*command, environment=environment, out=files[0], error=files[1], library=library, folder=folder, seconds=seconds)
        code = process.wait()
        said, complained = (Path(file).read_text() for file in files)
    return subprocess.CompletedProcess([sys.executable, *command], code, said, complained)


def said(*command: str, **options: Any) -> str:
    """Return the output of a program (``done``), which must succeed."""
    ended = done(*command, **options)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def run(command: list[str], *, env: Mapping[str, str], capture_output: bool = False, text: bool = True, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Stand in for ``subprocess.run`` of a Python that runs ``-m mstorch`` or, without ``-m``, a script with torch."""
    assert command[0] == sys.executable and text and not check
    before = any(env.get(name) for name in ("MSTORCH_DEBUG", "MSTORCH_PROFILE"))  # mstorch reads it at import
    library = "torch" if command[1] != "-m" else "mindspore" if before else "mstorch"
    ended = done(*command[1:], environment=env, library=library, folder=Path.cwd())
    if not capture_output:
        print(ended.stdout, end="")
        print(ended.stderr, end="", file=sys.stderr)
    return ended


def _import_mindspore() -> None:
    """Import MindSpore as mstorch does, which first sets a variable for the stand-in device (``_src/backend/runtime.py``)."""
    sets = os.environ.get("MSTORCH_FAKE_DEVICE") and "ONEDNN_MAX_CPU_ISA" not in os.environ
    if sets:
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    importlib.import_module("mindspore")
    if sets:
        del os.environ["ONEDNN_MAX_CPU_ISA"]


def _import(library: str) -> list[dict[str, Any]]:
    """Import a library; return the function that it registers to run after a fork, which is for the programs' own children."""
    if library == "torch":
        importlib.import_module("torch")
        return []
    _import_mindspore()
    asked: list[dict[str, Any]] = []
    if library == "mstorch":
        register = os.register_at_fork
        os.register_at_fork = lambda **functions: asked.append(functions)  # type: ignore[assignment]
        importlib.import_module("mstorch")
        os.register_at_fork = register  # type: ignore[assignment]
    return asked


def _serve() -> dict[str, Any] | None:
    """Fork for each line of the input, and report pids and exit codes. In a child, return the request."""
    running: set[int] = set()
    while True:
        if select.select([0], [], [], 0.01 if running else None)[0]:
            line = b""
            while not line.endswith(b"\n"):
                read = os.read(0, 1 << 16)
                if not read:
                    return None
                line += read
            child = os.fork()
            if not child:
                asked: dict[str, Any] = json.loads(line)
                return asked
            running.add(child)
            os.write(1, b"started %d\n" % child)
        for child in list(running):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                running.remove(child)
                os.write(1, b"ended %d %d\n" % (child, os.waitstatus_to_exitcode(status)))


def _become(command: list[str], environment: dict[str, str], folder: str, files: list[str], seconds: int) -> None:
    signal.alarm(seconds)
    for number, file in enumerate([os.devnull, *files]):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    old, new = ([path for path in one.get("PYTHONPATH", "").split(os.pathsep) if path] for one in (os.environ, environment))
    sys.path[1:] = [*new, *(path for path in sys.path[1:] if path not in old)]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    multiprocessing.process.ORIGINAL_DIR = folder  # type: ignore[attr-defined] # where spawned children look for a script
    while command[0] == "-W":
        warnings.simplefilter(command[1])  # type: ignore[arg-type]
        command = command[2:]
    first, *sys.argv = command if command[0].startswith("-") else ("", *command)
    if first == "-m":
        sys.path[0] = folder
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        code, sys.argv[0], sys.path[0] = sys.argv[0], "-c", ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(code, "<string>", "exec"), vars(main))
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    at_forks = _import(sys.argv[1])
    gc.collect()
    gc.freeze()  # otherwise garbage collections at each child's end walk through the library, and copy its memory: most of the child's time
    request = _serve()
    if request is not None:
        for functions in at_forks:
            os.register_at_fork(**functions)
        _become(**request)
