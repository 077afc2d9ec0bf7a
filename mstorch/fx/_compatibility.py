"""torch.fx._compatibility: the ``compatibility`` decorator."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Marked = TypeVar("_Marked", bound=Callable[..., Any])


def compatibility(is_backward_compatible: bool) -> Callable[[_Marked], _Marked]:
    """Return a decorator that returns its argument unchanged; it only documents stability."""
    return lambda marked: marked
