"""The names of MindSpore's layers for our tensors: read and written under those names, too, and saved under them in its files."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# torch's name → MindSpore's: the attribute first, then what files of a layer that stands alone say.
AFFINE: Mapping[str, tuple[str, ...]] = {"weight": ("gamma",), "bias": ("beta",)}
RUNNING: Mapping[str, tuple[str, ...]] = {"running_mean": ("moving_mean", "mean"), "running_var": ("moving_variance", "variance")}
NORM: Mapping[str, tuple[str, ...]] = {**AFFINE, **RUNNING}
TABLE: Mapping[str, tuple[str, ...]] = {"weight": ("embedding_table",)}
SLOPE: Mapping[str, tuple[str, ...]] = {"weight": ("w", "a")}


def torchs_name(module: Any, name: str) -> str | None:
    """Return what torch calls the tensor that MindSpore's layer of this kind calls ``name``."""
    for own, names in type(module)._mstorch_names.items():
        if names[0] == name:
            return own
    return None
