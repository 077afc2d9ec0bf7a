"""The bases of Module, hidden so that ``dir`` and ``inspect`` of a class show torch's names and no names of MindSpore's Cell."""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from ..._src.backend.cell import Cell
from ._cell_names import CellName

_Class = TypeVar("_Class", bound=type)
# Attributes that torch's Module lacks, or that each class defines.
_OWN = frozenset(("__bool__", "__del__", "__doc__", "__init__", "__module__", "__signature__"))
_dictionary = type.__dict__["__dict__"].__get__


def _is_torchs(name: str, value: object) -> bool:
    return not (name.startswith("_mstorch_") or name in _OWN or isinstance(value, CellName))


class _Hides(type):
    """The metaclass of a class that hides part of its namespace, from ``dir`` too, which reads ``__dict__`` and ``__bases__`` of each base.

    Module itself has torch's metaclass, ``type``, so that users' classes may have any other: Python looks up the bases' metaclasses when a
    class is created, not when its bases are replaced.
    """

    @property
    def __dict__(cls) -> Mapping[str, Any]:
        ours = [base for base in cls.__mro__[1:] if not issubclass(Cell, base)]
        found = {name: value for base in reversed(ours) for name, value in _dictionary(base).items()}
        return MappingProxyType({name: value for name, value in found.items() if _is_torchs(name, value)})

    def __eq__(cls, other: object) -> bool:
        """Return True for Cell too: MindSpore's rewriting of networks (``auto_mixed_precision`` at O1) stops at this class."""
        return cls is other or other is Cell

    __hash__ = type.__hash__

    @property
    def __bases__(cls) -> tuple[type, ...]:
        return (object,)


def hides_bases(cls: _Class) -> _Class:
    """Class decorator that replaces the bases of a class by one class which derives from them and hides their names from ``dir``."""

    class Behind(*cls.__bases__, metaclass=_Hides):
        __slots__ = ()

    cls.__bases__ = (Behind,)
    return cls
