"""torch._functorch.eager_transforms: the function transforms, and selection of arguments."""
from __future__ import annotations

import sys
from typing import Any

from .._src.core.above import above
from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ..func._levels import chosen_positions, wrapped_at

__all__ = ["_slice_argnums", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: int | tuple[int, ...], as_tuple: bool = True) -> int | tuple[int, ...]:
    """Return the arguments at these positions; for a single position the argument itself, unless ``as_tuple`` is set."""
    picked = tuple(args[position] for position in chosen_positions(argnums, len(args)))
    return picked[0] if isinstance(argnums, int) and not as_tuple else picked


def _wrap_tensor_for_grad(maybe_tensor: Any, level: int) -> Any:
    """Return a tensor as an argument of the transform at ``level``; another value unchanged. Packages set a function in its place that
    calls it and changes the class of the result."""
    return wrapped_at(maybe_tensor, level)


ORIGINAL = _wrap_tensor_for_grad
above.eager_transforms = sys.modules[__name__]
