"""torch._functorch.apis: ``vmap`` in chunks."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..func import grad, grad_and_value, vmap
from .vmap import mapped_size


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """Apply ``vmap`` in at most ``chunks`` chunks, one after the other."""
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = -(-mapped_size(func, in_dims, args) // chunks)
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness, chunk_size=size)(*args, **kwargs)

    return wrapper


__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]
