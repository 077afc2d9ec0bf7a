"""Packages whose extensions are compiled for torch, by operators of mstorch's own: ``mstorch.companions.torch_scatter``.

``python -m mstorch`` shows them under their own names where nothing of that name is installed. ``companions.torchvision`` is what
torchvision's compiled library contains; it also registers the operators in ``torch.ops.torchvision``.
"""
from __future__ import annotations

import importlib

from ._companions import PACKAGES


def __getattr__(name: str) -> object:
    if name not in PACKAGES:
        raise AttributeError(f"module 'mstorch.companions' has no attribute '{name}'; it has {', '.join(PACKAGES)}", name=name)
    return importlib.import_module(f"{__name__.rpartition('.')[0]}._companions.{name}")


def __dir__() -> list[str]:
    return list(PACKAGES)
