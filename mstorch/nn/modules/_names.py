"""MindSpore's names for the tensors of layers: they work as attributes, and MindSpore's checkpoint files contain them."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

# torch's name → MindSpore's names: first the attribute, then the name in files of a single layer.
AFFINE: Mapping[str, tuple[str, ...]] = {"weight": ("gamma",), "bias": ("beta",)}
RUNNING: Mapping[str, tuple[str, ...]] = {"running_mean": ("moving_mean", "mean"), "running_var": ("moving_variance", "variance")}
NORM: Mapping[str, tuple[str, ...]] = {**AFFINE, **RUNNING}
TABLE: Mapping[str, tuple[str, ...]] = {"weight": ("embedding_table",)}
SLOPE: Mapping[str, tuple[str, ...]] = {"weight": ("w", "a")}


_Class = TypeVar("_Class", bound=type)
# In a dict, not in the class, so that a class has no additional attributes.
_of_classes: dict[type, Mapping[str, tuple[str, ...]]] = {}
_known = {names[0] for table in (NORM, TABLE, SLOPE) for names in table.values()}


def called(names: Mapping[str, tuple[str, ...]]) -> Callable[[_Class], _Class]:
    """Return a class decorator that registers MindSpore's names for the tensors of a layer class and its subclasses."""

    def said(cls: _Class) -> _Class:
        _of_classes[cls] = names
        return cls

    return said


def names_of(kind: type) -> Mapping[str, tuple[str, ...]]:
    """Return a class's dict from torch's tensor names to MindSpore's, {} if none is registered."""
    return next((_of_classes[base] for base in kind.__mro__ if base in _of_classes), {})


def torchs_name(module: Any, name: str) -> str | None:
    """Return torch's name of the tensor that MindSpore's layer calls ``name``, None if there is none."""
    if name not in _known:
        return None
    return next((own for own, names in names_of(type(module)).items() if names[0] == name), None)
