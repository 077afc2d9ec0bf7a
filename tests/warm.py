"""Programs in children of a process that has imported MindSpore, which takes three quarters of the time that mstorch's import takes.

The rest is as in a process of its own: a program has the environment that is given, imports mstorch itself, and ends as any other.
What looks at MindSpore's own import, or kills processes, is not for here.
"""
from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_READ_BY_MINDSPORE = ("GLOG_", "KMP_", "LD_", "MALLOC_", "MS_", "OMP_", "ONEDNN_", "PYTHON")
_servers: dict[tuple[Any, ...], subprocess.Popen[str]] = {}


def done(*command: str, environment: dict[str, str], folder: Path = ROOT, seconds: int = 3600) -> subprocess.CompletedProcess[str]:
    """Run ``python *command`` within ``seconds``: ``-m`` and a module, ``-c`` and code, or a script, with arguments; return its outcome."""
    read = sorted(pair for pair in environment.items() if pair[0].startswith(_READ_BY_MINDSPORE))
    key = (bool(environment.get("MSTORCH_FAKE_DEVICE")), *read)
    server = _servers.get(key)
    if server is None or server.poll() is not None:
        start = [sys.executable, "-m", "tests.warm"]
        server = _servers[key] = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
        atexit.register(_end, server)
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as outputs:
        files = [str(Path(outputs, name)) for name in ("stdout", "stderr")]
        asked = {"command": command, "environment": environment, "folder": str(folder), "files": files, "seconds": seconds}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that programs are forked from has ended"
        said, complained = (Path(file).read_text() for file in files)
    return subprocess.CompletedProcess([sys.executable, *command], int(answer), said, complained)


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.close()
    server.wait()
    server.stdout.close()


def _import_mindspore() -> None:
    """As mstorch does, which sets a variable before it for a device that is played (``_backend/runtime.py``)."""
    sets = os.environ.get("MSTORCH_FAKE_DEVICE") and "ONEDNN_MAX_CPU_ISA" not in os.environ
    if sets:
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    import mindspore  # noqa: F401 - what children need not do again

    if sets:
        del os.environ["ONEDNN_MAX_CPU_ISA"]


def _serve() -> dict[str, Any] | None:
    """Fork for each line of the input and answer with the exit code. In a child: what was asked."""
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        child = os.fork()
        if not child:
            return asked
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def _become(command: list[str], environment: dict[str, str], folder: str, files: list[str], seconds: int) -> None:
    signal.alarm(seconds)
    for number, file in enumerate([os.devnull, *files]):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    first, *sys.argv = command if command[0].startswith("-") else ("", *command)
    if first == "-m":
        sys.path[0] = folder
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        code, sys.argv[0], sys.path[0] = sys.argv[0], "-c", ""
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _import_mindspore()
    request = _serve()
    if request is not None:
        _become(**request)
