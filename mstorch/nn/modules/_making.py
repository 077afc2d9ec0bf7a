"""Construction of Modules whose other bases are mixins with their own ``__new__``."""
from __future__ import annotations

from typing import Any

from ..._src.backend.cell import Cell


class _Last:
    """The last base: a mixin's ``super().__new__(cls)`` ends here, since ``object`` cannot construct a Cell."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return Cell.__new__(cls)


def made(cls: type, owner: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a new object, calling ``__new__`` of the bases after ``owner`` as if ``owner`` had none (torch's Module has none)."""
    line = cls.__mro__
    for base in line[line.index(owner) + 1 : -1]:
        if "__new__" in base.__dict__ and not issubclass(Cell, base) and base is not _Last:
            if _Last not in line:
                cls.__bases__ += (_Last,)
            return base.__new__(cls, *args, **kwargs)
    return Cell.__new__(cls)
