"""The names that users see: classes are shown under torch's module paths."""
from __future__ import annotations

import sys

# Torch's module for classes that have a separate file in mstorch.
_TORCH_MODULES = dict.fromkeys(
    ("mstorch._tensor", "mstorch._src.core.dtype", "mstorch._src.core.device", "mstorch._src.core.size"), "torch"
)


def is_torch() -> bool:
    """Return whether ``import torch`` imports mstorch in this process."""
    return sys.modules.get("torch") is sys.modules[__name__.partition(".")[0]]


def class_text(cls: type) -> str:
    """Return the repr of a class: that of torch (``<class 'torch.nn.modules.conv.Conv2d'>``) for a class of mstorch, the usual one for a
    user's subclass.
    """
    module = cls.__module__
    if module.startswith("mstorch"):
        module = _TORCH_MODULES.get(module, "torch" + module[len("mstorch") :])
    return f"<class '{module}.{cls.__qualname__}'>"


class NamedAsInTorch(type):
    """Metaclass whose classes show torch's path in their repr; pickles contain the real path."""

    def __repr__(cls) -> str:
        return class_text(cls)
