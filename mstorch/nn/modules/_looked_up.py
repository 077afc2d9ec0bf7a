"""Functions of ``torch.nn.functional``, looked up at each call of a layer: programs put their own in their place."""
from __future__ import annotations

from typing import Any

from .. import functional


class LookedUp:
    """Class attribute whose value is the function that ``torch.nn.functional`` has under a name now."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return getattr(functional, self.name)
