"""torch.distributed.rpc: remote procedure calls, which mstorch lacks."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from .._src.hook import missing as _missing
from .._src.hook import not_yet

__path__: list[str] = []  # modules below this one are in _src/unbuilt/modules.txt


def is_available() -> bool:
    """Return False: RPC is not supported."""
    return False


def init_rpc(name: str, backend: Any = None, rank: int = -1, world_size: int | None = None, rpc_backend_options: Any = None) -> NoReturn:
    """Raise NotImplementedError: RPC is not supported."""
    raise NotImplementedError(f"mstorch: torch.distributed.rpc is not here {not_yet()}")


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises RuntimeError, as torch's does before ``init_rpc``: torch_geometric decorates its functions when it is
    imported."""

    @functools.wraps(func)
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")

    return refuse


__getattr__ = _missing(__name__)
__all__ = ["init_rpc", "is_available"]
