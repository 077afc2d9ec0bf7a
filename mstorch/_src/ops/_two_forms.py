"""``dim`` and ``keepdim`` of functions that torch has in two forms: of all elements, with neither of them, and along ``dim``."""
from __future__ import annotations

from typing import Any

from ..backend.errors import wrong_type


class _Absent:
    """The default of an argument that is absent in one of the forms."""

    def __repr__(self) -> str:
        return "..."


ABSENT: Any = _Absent()


def of_all(name: str, dim: Any, keepdim: Any) -> bool:
    """Return whether a call is of all elements: neither ``dim`` nor ``keepdim`` is given. Raise TypeError if only ``keepdim`` is, or if
    ``dim`` is None."""
    if dim is ABSENT and keepdim is ABSENT:
        return True
    if dim is ABSENT:
        raise wrong_type(f"{name}() received an invalid combination of arguments - got keepdim without dim")
    if dim is None:
        raise wrong_type(f"{name}(): argument 'dim' must be int, not NoneType")
    return False
