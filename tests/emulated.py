"""What the emulated runtimes below MindSpore's plugins (``tests/cann``, ``tests/cuda``) have in common: each is built once for the installed
MindSpore, and programs run with variables by which MindSpore finds it.
"""
from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.absolute()


def mindspore_folder() -> Path:
    """Return the folder of the installed MindSpore."""
    spec = importlib.util.find_spec("mindspore")
    assert spec is not None and spec.origin is not None, "MindSpore is not installed"
    return Path(spec.origin).parent


def missing(runtime: str, tools: Iterable[str], plugin: str, name: str) -> str:
    """Return why a runtime can't be built here, or "" if it can; ``plugin`` is the path of MindSpore's plugin ``name``."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return f"the emulated {runtime} is x86-64 Linux's"
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if lacking:
        return f"the emulated {runtime} is built with {', '.join(lacking)}"
    return "" if (mindspore_folder() / plugin).exists() else f"this MindSpore has no {name} plugin"


def built(kind: str, sources: Iterable[Path], make: Callable[[Path, Path], None]) -> Path:
    """Return the folder that ``make`` fills for MindSpore's folder, called once for these sources and this MindSpore. Processes wait for the
    one that builds."""
    mindspore = mindspore_folder()
    identity = hashlib.sha256(str(mindspore).encode() + (mindspore / "version.py").read_bytes() + b"".join(path.read_bytes() for path in sources))
    place = Path(tempfile.gettempdir()) / f"mstorch-{kind}-{os.getuid()}" / identity.hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "done").exists():
            shutil.rmtree(place / "latest", ignore_errors=True)
            make(mindspore, place / "latest")
            (place / "done").touch()
    return place / "latest"


def environment(site: Path, libraries: Path, variables: Mapping[str, str], changes: Mapping[str, object]) -> dict[str, str]:
    """Return this process's environment with the repository's root and ``site`` on PYTHONPATH, the libraries' folder, a runtime's variables,
    and ``changes`` (None removes one)."""
    new = dict(os.environ)
    paths = [str(ROOT), str(site), *filter(None, new.get("PYTHONPATH", "").split(":"))]
    new |= {
        "PYTHONPATH": ":".join(dict.fromkeys(paths)), "GLOG_v": "4",
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(libraries), new.get("LD_LIBRARY_PATH")])),
        **variables,
    }  # fmt: skip
    new.pop("MSTORCH_FAKE_DEVICE", None)
    for name, value in changes.items():
        new.pop(name, None)
        if value is not None:
            new[name] = str(value)
    return new


def run(arguments: list[str], changes: dict[str, object], build: Any, usage: str | None) -> None:
    """Replace this process by a command behind NAME=VALUE arguments, in the environment of the module ``build``. Exit with the usage if there
    is no command, and with the reason if the runtime can't be built."""
    while arguments and "=" in arguments[0]:
        name, _, value = arguments.pop(0).partition("=")
        changes[name] = value
    if not arguments:
        sys.exit(usage)
    if build.missing():
        sys.exit(build.missing())
    os.execvpe(arguments[0], arguments, build.environment(**changes))
