"""torch.distributed.checkpoint.stateful: the protocol of objects with a state dict."""
from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object with ``state_dict`` and ``load_state_dict``."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state dict."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state dict."""


StatefulT = TypeVar("StatefulT", bound=Stateful)

__all__ = ["Stateful", "StatefulT"]
