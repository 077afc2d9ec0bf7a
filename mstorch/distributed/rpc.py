"""torch.distributed.rpc: calls between processes, which is not here."""
from __future__ import annotations

from typing import Any, NoReturn

from .._hook import not_yet


def is_available() -> bool:
    """Return False: there are no calls between processes here."""
    return False


def init_rpc(name: str, backend: Any = None, rank: int = -1, world_size: int | None = None, rpc_backend_options: Any = None) -> NoReturn:
    """Raise NotImplementedError: there are no calls between processes here."""
    raise NotImplementedError(f"mstorch: torch.distributed.rpc is not here {not_yet()}")


__all__ = ["init_rpc", "is_available"]
