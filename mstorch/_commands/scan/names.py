"""Look-up of torch names in mstorch's modules and classes; attributes of other objects cannot be checked."""
from __future__ import annotations

import functools
import importlib
import warnings
from types import ModuleType
from typing import Any, NamedTuple

from ..._src import hook as _hook
from ..._src.unbuilt import is_unbuilt

_OTHER_MAKERS = frozenset("xpu mps hpu mlu musa mtia xla gcu supa sdaa maia privateuseone vulkan ipu ort".split())


class Lack(NamedTuple):
    """The shortest prefix of a dotted name that does not exist. ``importable``: it can be imported, but using it raises."""

    name: str
    importable: bool


@functools.cache
def found(dotted: str) -> tuple[Any, Lack | None]:
    """Return (object, None) for a dotted torch name that exists, (None, the missing part) for one that does not, and (None, None) if that
    cannot be determined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _found(dotted)


def _found(dotted: str) -> tuple[Any, Lack | None]:
    value: object = importlib.import_module(_hook.ours("torch"))
    path, ours_ops = "torch", _hook.ours("torch.ops")
    for part in dotted.split(".")[1:]:
        if not isinstance(value, (ModuleType, type)) and type(value).__module__ != ours_ops:
            return None, None
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            if not isinstance(value, ModuleType):
                return None, Lack(path, False)
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except ModuleNotFoundError as error:
                return None, Lack(path, False) if _is_ours(error) else None
        except RuntimeError:  # a property of a device that this machine lacks
            return None, None
        if is_unbuilt(value):
            return None, Lack(path, True)
    return value, None


def _is_ours(error: ModuleNotFoundError) -> bool:
    """Return whether the module that could not be imported belongs to mstorch, and is not a dependency that torch needs too."""
    return (error.name or "").partition(".")[0] in ("", _hook.ours("torch"))


@functools.cache
def package_for(dotted: str) -> str | None:
    """Return the name of the missing package that a torch module needs (tensorboard, for example); None if nothing is missing."""
    parts = dotted.split(".")
    for number in range(2, len(parts) + 1):
        try:
            importlib.import_module(_hook.ours(".".join(parts[:number])))
        except ModuleNotFoundError as error:
            return None if _is_ours(error) or not error.name else error.name.partition(".")[0]
    return None


def lack_of(dotted: str, importing: bool = False) -> Lack | None:
    """Return the missing part of a dotted name, None if nothing is missing.

    Names of other makers' devices (``torch.xpu``, for example) and of libraries' operators never count as missing; with ``importing``,
    neither do names that can be imported."""
    if _OTHER_MAKERS.intersection(dotted.split(".")[1:3]):
        return None
    if dotted.startswith("torch.ops.") and dotted.split(".")[2:3] not in ([], ["aten"], ["prim"], ["prims"], ["profiler"]):
        return None  # operators that libraries define when they are loaded
    lack = found(dotted)[1]
    return None if lack is not None and lack.importable and importing else lack


@functools.cache
def tensor_has(name: str) -> bool:
    """Return whether tensors have an attribute."""
    kind = found("torch.Tensor")[0]
    return name in ("grad", "npu", "is_npu") or any(hasattr(one, name) for one in (kind, *kind.__subclasses__()))  # also sparse tensors
