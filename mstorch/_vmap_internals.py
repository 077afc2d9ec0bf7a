"""torch._vmap_internals: ``vmap`` as it was before ``torch.func``; surrounding autograd and forward mode differentiate it."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from typing_extensions import deprecated

from ._functorch.vmap import vmap as _of_func
from ._src.core.generator import randomness
from ._src.core.overriding import state
from ._src.hook import missing as _missing
from ._tensor import Tensor
from .utils._pytree import tree_flatten, tree_unflatten

in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]


def _older(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as the older vmap runs it: without random numbers, and with Functions that know nothing of transforms."""

    @functools.wraps(func)
    def run(*slices: Any) -> Any:
        state.maps[-1].older = True
        with randomness("refused"):
            return func(*slices)

    return run


@deprecated("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", category=FutureWarning)
def vmap(func: Callable[..., Any], in_dims: in_dims_t = 0, out_dims: out_dims_t = 0) -> Callable[..., Any]:
    """Return a function that applies ``func`` to each slice of its arguments."""
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: in_dims_t = 0, out_dims: out_dims_t = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """Return a function that applies ``func`` to each slice; with ``allow_none_pass_through``, None in its result stays None."""
    func = _older(func)
    if not allow_none_pass_through:
        return _of_func(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        forms: list[Any] = []

        def told(*slices: Tensor) -> Any:
            leaves, form = tree_flatten(func(*slices))
            forms.append((form, [leaf is None for leaf in leaves]))
            return tuple(leaf for leaf in leaves if leaf is not None)

        found = iter(_of_func(told, in_dims, out_dims)(*args))
        form, absent = forms[-1]
        return tree_unflatten([None if missing else next(found) for missing in absent], form)

    return mapped


__all__ = ["vmap"]

__getattr__ = _missing(__name__)
