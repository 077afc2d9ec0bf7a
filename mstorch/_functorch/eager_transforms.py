"""torch._functorch.eager_transforms: the function transforms, and selection of arguments."""
from __future__ import annotations

from typing import Any

from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ..func._levels import chosen_positions

__all__ = ["_slice_argnums", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: int | tuple[int, ...], as_tuple: bool = True) -> int | tuple[int, ...]:
    """Return the arguments at these positions; for a single position the argument itself, unless ``as_tuple`` is set."""
    picked = tuple(args[position] for position in chosen_positions(argnums, len(args)))
    return picked[0] if isinstance(argnums, int) and not as_tuple else picked
