"""torch.utils.flop_counter: counting what operations compute, which needs every operation to be seen. It is not here."""
from __future__ import annotations

from typing import Any

from .._hook import not_yet


class FlopCounterMode:
    """Raises NotImplementedError when it is made: operations are not counted here."""

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        raise NotImplementedError(f"mstorch: torch.utils.flop_counter does not count {not_yet()}")


__all__ = ["FlopCounterMode"]
