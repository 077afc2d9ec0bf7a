"""Operators as they were in older versions of archives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from .operators import operator


def _whole(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not (value.is_floating_point() or value.is_complex())
    return type(value) in (int, bool)


def _former(name: str) -> Callable[..., Any]:
    """Return a division that truncates the quotients of whole numbers, as before version 4."""

    def divide(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and not kwargs and isinstance(args[0], Tensor) and all(map(_whole, args)):
            return operator("aten", name)(*args, rounding_mode="trunc")
        return operator("aten", name)(*args, **kwargs)

    return divide


FORMER: dict[str, Callable[..., Any]] = {"div": _former("div"), "div_": _former("div_")}
