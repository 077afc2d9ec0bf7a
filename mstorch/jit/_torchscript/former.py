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


def _divided(name: str) -> Callable[..., Any]:
    """Return a division that truncates the quotients of whole numbers."""

    def divide(*args: Any, **kwargs: Any) -> Any:
        tensors = [*args, *(value for key, value in kwargs.items() if key in ("self", "other", "out"))]
        if "rounding_mode" not in kwargs and any(isinstance(one, Tensor) for one in tensors) and all(map(_whole, tensors)):
            return operator("aten", name)(*args, **kwargs, rounding_mode="trunc")
        return operator("aten", name)(*args, **kwargs)

    return divide


def _filled(size: Any, fill_value: Any, **kwargs: Any) -> Any:
    """Return ``full`` with floating-point numbers where no dtype is told."""
    if kwargs.get("dtype") is None and "out" not in kwargs:
        fill_value = float(fill_value)
    return operator("aten", "full")(size, fill_value, **kwargs)


def _spaced(name: str) -> Callable[..., Any]:
    """Return a range of 100 numbers where none is told."""

    def space(start: Any, end: Any, steps: int | None = None, *base: Any, **kwargs: Any) -> Any:
        return operator("aten", name)(start, end, 100 if steps is None else steps, *base, **kwargs)

    return space


_FORMER: dict[str, tuple[int, Callable[..., Any]]] = {
    "div": (4, _divided("div")),
    "div_": (4, _divided("div_")),
    "full": (5, _filled),
    "linspace": (8, _spaced("linspace")),
    "logspace": (9, _spaced("logspace")),
}
"""The version from which an operator is as today, and what it was before."""


def former(name: str, version: int) -> Callable[..., Any] | None:
    """Return an operator as archives of a version mean it; None if that is how it is today."""
    bumped, function = _FORMER.get(name, (0, None))
    return function if version < bumped else None
