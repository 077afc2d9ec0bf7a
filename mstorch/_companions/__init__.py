"""Packages whose extensions are compiled for torch's library, by operators of mstorch's own; a package is imported when it is asked for."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import NoReturn

from .._src.hook import COMPANIONS

_OURS = __name__
PACKAGES = (*COMPANIONS, "mmcv", "torchaudio", "torchvision")
"""Packages that are here. Of mmcv, torchaudio and torchvision it is the compiled library, and their Python must be installed."""
_LIBRARIES = {("torchvision", "_C"): "torchvision", ("torchvision", "image"): "torchvision.images"}
"""Libraries of installed packages, by the package's folder and the beginning of the file's name, and what is loaded in their place."""


def replacement(path: str) -> str | None:
    """Return the module that is loaded in place of a library compiled for torch; None if there is none."""
    file = PurePath(path)
    stem = file.name.partition(".")[0].removesuffix("_stable")
    module = _LIBRARIES.get((file.parent.name, stem))
    return None if module is None else f"{_OURS}.{module}"


def absent(name: str, instead: str) -> type:
    """Return a placeholder for a name that a package has and mstorch lacks: a call of it raises NotImplementedError."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"mstorch: {name} is not here; {instead}")

    return type(name.rpartition(".")[2], (), {"__new__": refuse, "__doc__": f"Not here; {instead}."})


def absent_names(module: str, instead: Mapping[str, str]) -> Callable[[str], type]:
    """Return a module's ``__getattr__``: a placeholder for each name of a mapping, whose values are what to write in its place."""

    def get(name: str) -> type:
        if name in instead:
            return absent(f"{module}.{name}", f"write {instead[name]}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return get
