"""Write two lists of ``mstorch/_src/unbuilt``: ``modules.txt``, the public modules of torch that mstorch has no file for, so that they can
be imported, and ``absent.txt``, what torch has and mstorch lacks, so that an error can tell it from a misspelt name.

    python -m tools.modules     # with real torch installed

Each line of ``modules.txt`` has a module and its public names: classes, functions with (), and those that mstorch has in another module
(``name=module``). Each line of ``absent.txt`` has a module and the names that it has in torch alone, private ones too; private modules
stand there without names.
"""
from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

_FOLDER = Path(__file__).parents[1] / "mstorch/_src/unbuilt"
FILE = _FOLDER / "modules.txt"
ABSENT = _FOLDER / "absent.txt"
HEAD = "# Modules that torch has and mstorch has no file for, and their public names. Written by python -m tools.modules.\n"
HEAD_OF_ABSENT = "# Modules of torch, and their names that mstorch lacks; a module alone is lacking. Written by python -m tools.modules.\n"
# Parts of PyTorch's own tests and tools, which are not installed for users, and modules that start something when they are imported.
LEFT_OUT = (
    "testing._internal", "utils.hipify", "utils.benchmark.examples", "utils.model_dump", "utils.bottleneck", "__main__",
    "elastic.rendezvous.etcd", "quantization.quantize_jit",  # a function of that name hides the last one
)  # fmt: skip


def _modules(package: ModuleType, private: bool = False) -> Iterator[str]:
    """Yield the names of a package's modules that can be imported; of private ones, if they are asked for, their names alone."""
    for item in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if any(part in item.name for part in LEFT_OUT):
            continue
        if item.name.rpartition(".")[2].startswith("_"):
            if private:
                yield item.name
            continue
        try:
            module = importlib.import_module(item.name)
        except Exception:  # noqa: BLE001 - torch's own import fails here: an optional package, another device
            continue
        yield item.name
        if hasattr(module, "__path__"):
            yield from _modules(module, private)


def _ours(name: str) -> Any:
    from mstorch._src import unbuilt

    try:
        module = importlib.import_module(f"mstorch{name.removeprefix('torch')}")
    except Exception:  # noqa: BLE001 - whatever keeps it from being imported, it is not there
        return None
    return None if unbuilt.is_unbuilt(module) else module


def _word(module: ModuleType, name: str) -> str | None:
    from mstorch._src import unbuilt

    value = vars(module)[name]
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return None
    home = getattr(value, "__module__", None) or module.__name__
    if not isinstance(home, str) or not home.startswith("torch"):
        return None
    if home != module.__name__:
        there = _ours(home)
        found = getattr(there, name, None) if there is not None else None
        if found is not None and not unbuilt.is_unbuilt(found):
            return f"{name}={home}"
        return None  # another module's, which is not built
    return name if inspect.isclass(value) else f"{name}()"


def text() -> str:
    """Return the file's text."""
    import torch

    lines = []
    for name in sorted(_modules(torch)):
        if _ours(name) is None:
            module = importlib.import_module(name)
            words = (_word(module, key) for key in sorted(vars(module)) if not key.startswith("_"))
            lines.append(f"{name}: {' '.join(word for word in words if word)}".rstrip())
    return HEAD + "\n".join(lines) + "\n"


def _is_torchs(module: ModuleType, name: str) -> bool:
    """Return whether a name of a module is torch's own: no dunder, no module, nothing of another package."""
    value = vars(module)[name]
    if name.startswith("__") or inspect.ismodule(value):
        return False
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(getattr(value, "__module__", None) or module.__name__).startswith("torch")
    return name in getattr(module, "__all__", ()) or name.startswith("_")


def _lacks(ours: ModuleType, name: str) -> bool:
    try:
        getattr(ours, name)
    except AttributeError:
        return True
    except Exception:  # noqa: BLE001 - it is there, and what it needs is not
        return False
    return False


def text_of_absent() -> str:
    """Return the text of ``absent.txt``."""
    import torch

    lines = []
    for name in ["torch", *sorted(_modules(torch, private=True))]:
        private = name.rpartition(".")[2].startswith("_")
        ours = None if private else _ours(name)
        if ours is not None:
            module = importlib.import_module(name)
            names = [key for key in sorted(vars(module)) if _is_torchs(module, key) and _lacks(ours, key)]
            lines += [f"{name}: {' '.join(names)}"] if names else []
        elif private and not _can_be_found(f"mstorch{name.removeprefix('torch')}"):
            lines.append(f"{name}:")
    return HEAD_OF_ABSENT + "\n".join(lines) + "\n"


def _can_be_found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file, head, write in ((FILE, HEAD, text), (ABSENT, HEAD_OF_ABSENT, text_of_absent)):
            file.write_text(head)  # what an earlier run wrote must not count as there
            file.write_text(write())
