"""Write ``mstorch/_src/unbuilt/modules.txt``: the public modules of torch that mstorch has no file for, so that they can be imported.

    python -m tools.modules     # with real torch installed

Each line has a module and its public names: classes, functions with (), and those that mstorch has in another module (``name=module``).
"""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).parents[1] / "mstorch/_src/unbuilt/modules.txt"
HEAD = "# Modules that torch has and mstorch has no file for, and their public names. Written by python -m tools.modules.\n"
# Parts of PyTorch's own tests and tools, which are not installed for users, and modules that start something when they are imported.
LEFT_OUT = (
    "testing._internal", "utils.hipify", "utils.benchmark.examples", "utils.model_dump", "utils.bottleneck", "__main__",
    "elastic.rendezvous.etcd", "quantization.quantize_jit",  # a function of that name hides the last one
)  # fmt: skip


def _modules(package: ModuleType) -> Iterator[str]:
    for item in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if any(part in item.name for part in LEFT_OUT) or item.name.rpartition(".")[2].startswith("_"):
            continue
        try:
            module = importlib.import_module(item.name)
        except Exception:  # noqa: BLE001 - torch's own import fails here: an optional package, another device
            continue
        yield item.name
        if hasattr(module, "__path__"):
            yield from _modules(module)


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


if __name__ == "__main__":
    FILE.write_text(HEAD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FILE.write_text(text())
