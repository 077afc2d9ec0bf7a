"""torch.fx._compatibility."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Marked = TypeVar("_Marked", bound=Callable[..., Any])


def compatibility(is_backward_compatible: bool) -> Callable[[_Marked], _Marked]:
    """Return a decorator of what promises to stay, or not: a word to readers, which changes nothing."""
    return lambda marked: marked
