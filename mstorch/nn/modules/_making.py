"""How an object of a Module class comes to be where other bases have a say in it: mixins with a ``__new__`` of their own."""
from __future__ import annotations

from typing import Any

from ..._backend.cell import Cell


class _Last:
    """Stands behind all other bases: here a mixin's ``super().__new__(cls)`` ends, since a Cell cannot be made by ``object``."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return Cell.__new__(cls)  # type: ignore[arg-type]


def made(cls: type, owner: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a new object; ``__new__`` of a base that stands behind ``owner`` is called, as if that had none (torch's Module has none)."""
    line = cls.__mro__
    for base in line[line.index(owner) + 1 : -1]:
        if "__new__" in base.__dict__ and not issubclass(Cell, base) and base is not _Last:
            if _Last not in line:
                cls.__bases__ += (_Last,)
            return base.__new__(cls, *args, **kwargs)
    return Cell.__new__(cls)
