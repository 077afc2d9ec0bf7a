"""Functions of ``torch.nn.functional`` that layers look up at each call, because programs may replace them."""
from __future__ import annotations

from typing import Any

from .. import functional


class LookedUp:
    """Class attribute whose value is the function that ``torch.nn.functional`` has under the name at the time of access."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return getattr(functional, self.name)
