"""Command line: runs a torch script on mstorch; reports unsupported names, differences from torch, and times; describes the machine.

python -m mstorch script.py [args]        run a script (or app.pyz, script.pyc, a folder) in which `import torch` imports mstorch
python -m mstorch -m package.module [args]
python -m mstorch -c "code" [args]
python -m mstorch --cuda-is-npu …         run one of these with "cuda" as an alias of the Ascend device
python -m mstorch scan PATH|PACKAGE…      list the torch names that the code uses and mstorch lacks (--device ascend, --json, --html)
python -m mstorch port PATH… [--write]    print a diff that imports mstorch as torch and replaces "cuda" by the device (--write: apply it)
python -m mstorch compare script.py […]   run a script under torch and mstorch, or on CPU and device; report the first layer that differs
python -m mstorch profile script.py […]   report a script's time by module, operation, kernel and line, with advice
python -m mstorch env                     print versions, device and tuning, for a bug report; works even if mstorch cannot be imported
python -m mstorch check [--json FILE]     compare kernels and common programs on this device with the host; write a report to send back
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pkgutil
import signal
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from mstorch._commands import environment
from mstorch._src import hook
from mstorch._src.backend import runtime
from mstorch._src.backend.onednn import library
from mstorch._src.core import cuda_names
from mstorch._src.frames import with_room
from mstorch.multiprocessing._process import die_with_parent

_COMMANDS = {name: f"mstorch._commands.{name}" for name in ("check", "compare", "port", "profile", "scan")}
"""Module of each command, imported on demand."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line (``sys.argv`` by default) and return the exit code; a script's exceptions propagate."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments[0] == "--cuda-is-npu":
        return _cuda_is_npu(arguments[1:])
    first, rest = arguments[0], arguments[1:]
    if os.environ.pop("MSTORCH_LAUNCHED", None) == str(os.getppid()):
        die_with_parent(signal.SIGTERM)  # started by mstorch.distributed.run: end when the launcher ends
    if first in ("-h", "--help"):
        print(__doc__)
        return 0
    if first == "env":
        return _env()
    if first in _COMMANDS:
        try:
            return importlib.import_module(_COMMANDS[first]).main(rest)
        except SystemExit as stop:  # raised by argparse after printing an error or the help
            return int(stop.code or 0)
    if first in ("-m", "-c"):
        if not rest:
            print(f"Argument expected for the {first} option", file=sys.stderr)
            return 2
        return _run_module(rest) if first == "-m" else _run_code(rest)
    if first.startswith("-"):
        print(f"unknown option {first}\n{__doc__}", file=sys.stderr)
        return 2
    return _run_script(arguments)


# Running


def _cuda_is_npu(arguments: list[str]) -> int:
    try:
        cuda_names.turn_on()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    os.environ[cuda_names.VARIABLE] = "1"  # inherited by processes that the script starts
    return main(arguments)


def _run_script(arguments: list[str]) -> int:
    path = os.path.abspath(arguments[0])
    if pkgutil.get_importer(path) is not None:
        return _run_archive(arguments)
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        print(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        return 2
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    sys.argv = arguments
    script = _new_main(path)
    script.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    code: Any = source
    if source.startswith(importlib.util.MAGIC_NUMBER) or path.endswith(".pyc"):
        script.__loader__ = importlib.machinery.SourcelessFileLoader("__main__", path)
        try:
            code = script.__loader__.get_code("__main__")
        except (ImportError, EOFError) as error:
            print(f"{sys.executable}: can't run {path!r}: {error}", file=sys.stderr)
            return 1
    _execute(script, code, path)
    return 0


def _run_archive(arguments: list[str]) -> int:
    """Run ``__main__`` of a folder or a zip archive (``app.pyz``), whose modules can be imported, as Python does."""
    path = os.path.abspath(arguments[0])
    finder: Any = pkgutil.get_importer(path)
    spec = finder.find_spec("__main__")
    loader: Any = None if spec is None else spec.loader
    if not hasattr(loader, "get_code"):  # zipimporter is no registered InspectLoader
        print(f"{sys.executable}: can't find '__main__' module in {path!r}", file=sys.stderr)
        return 1
    sys.path[0] = path  # also under `python -P`: the program is the archive
    sys.argv = arguments
    module = _new_main(spec.origin)
    module.__spec__, module.__loader__, module.__package__ = spec, loader, ""
    _execute(module, loader.get_code("__main__"), spec.origin)
    return 0


def _run_code(arguments: list[str]) -> int:
    sys.argv = ["-c", *arguments[1:]]
    _set_first_path("")
    _execute(_new_main(None), arguments[0].encode(), "<string>")
    return 0


def _run_module(arguments: list[str]) -> int:
    hook.install()
    name = arguments[0]
    if name.partition(".")[0] == "torch":
        name = hook.ours(name)
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name, spec = f"{name}.__main__", _find(f"{name}.__main__")
    if spec is None or not isinstance(spec.loader, importlib.abc.InspectLoader):
        print(f"{sys.executable}: No module named {name}", file=sys.stderr)
        return 1
    code = spec.loader.get_code(spec.name)
    if code is None:
        print(f"{sys.executable}: No code object available for {name}", file=sys.stderr)
        return 1
    sys.argv = [spec.origin or name, *arguments[1:]]
    module = _new_main(spec.origin)
    module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
    _execute(module, code, spec.origin)
    return 0


def _find(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None


def _set_first_path(folder: str) -> None:
    # Under `python -P` the first entry is not the current folder, and must not be replaced.
    if not getattr(sys.flags, "safe_path", False):  # Python 3.10 has no such flag
        sys.path[0] = folder


def _new_main(path: str | None) -> ModuleType:
    """Replace `__main__` by a new module, where pickle looks up the script's definitions."""
    module = ModuleType("__main__")
    module.__builtins__ = sys.modules["builtins"]  # type: ignore[attr-defined]
    module.__annotations__ = {}
    if path is not None:
        module.__file__ = path
        module.__cached__ = None  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    return module


def _execute(module: ModuleType, source: bytes | CodeType, filename: str | None) -> None:
    hook.install()
    gc.freeze()  # the library's objects: the last collections, at the program's end, spent half a second on them
    try:
        code = source if isinstance(source, CodeType) else compile(source, filename or "", "exec", dont_inherit=True)
        exec(with_room(code), module.__dict__)
    except SystemExit:
        raise
    except BaseException:
        # The interpreter reports the error, by the script's excepthook if it has set one, with a traceback from the script's frame on.
        report = sys.excepthook

        def report_from_the_script(kind, error, trace) -> None:
            trace = _after(trace, _execute.__code__)
            report(kind, error.with_traceback(trace), trace)

        sys.excepthook = report_from_the_script
        raise


def _after(trace, code: CodeType):
    """Return a traceback without the frames up to that of `code`."""
    rest = trace
    while rest is not None and rest.tb_frame.f_code is not code:
        rest = rest.tb_next
    return trace if rest is None else rest.tb_next


# env


def _env() -> int:
    described = {name: value for name, value in runtime.describe().items() if name != "numpy"}
    print("\n".join(environment.lines({"MindSpore version" if name == "mindspore" else name: value for name, value in described.items()}
                                       | {"oneDNN": library.describe()}, "")))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
