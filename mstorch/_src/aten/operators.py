"""The members of an operator's overload that calls below autograd use."""
from __future__ import annotations

from typing import Any, Protocol


class Operator(Protocol):
    """An overload of ``torch.ops``."""

    __name__: str
    namespace: str
    _opname: str
    _known: Any
    _is_detached: bool
    _is_in_place: bool
    _is_view: bool
    _nondeterministic_seeded: bool

    def name(self) -> str: ...

    @property
    def gradient(self) -> Any: ...

    def before(self, tensor: Any) -> Any: ...

    def recorded(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
