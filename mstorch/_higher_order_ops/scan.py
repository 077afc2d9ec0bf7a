"""torch._higher_order_ops.scan: loop over a dimension with a carry and an output per step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.ops._dispatch import wrap_dim
from .._src.ops.shape.join import stack
from .._tensor import Tensor
from ..utils import _pytree as pytree


def _check(combine_fn: Any, init: list[Any], xs: list[Any], dim: int, reverse: int) -> int:
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not init:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, leaves in (("init", init), ("xs", xs)):
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {leaf}")
    if not xs:
        return dim
    dim = wrap_dim(dim, xs[0].ndim)
    if any(leaf.ndim <= dim or leaf.shape[dim] == 0 for leaf in xs):
        raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    return dim


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0,
    reverse: bool = False
) -> tuple[Any, Any]:
    """Apply ``carry, y = combine_fn(carry, x)`` to each slice ``x`` of ``xs`` along ``dim``; return the last carry, and the stacked
    outputs.

    All are tensors or trees of tensors. Raise RuntimeError if the function returns a carry with other shapes or dtypes than it received.
    """
    leaves, spec = pytree.tree_flatten(xs)
    states, form = pytree.tree_flatten(init)
    dim = _check(combine_fn, states, leaves, dim, reverse)
    if not leaves:
        return init, []
    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    count = rows[0].shape[0]
    carry, found, shape = init, [], spec
    for place in reversed(range(count)) if reverse else range(count):
        told = combine_fn(carry, pytree.tree_unflatten([row[place] for row in rows], spec))
        if not isinstance(told, (tuple, list)) or len(told) != 2:
            raise RuntimeError("mstorch: the function of scan gives a state and a result")
        carry = told[0]
        given, own = pytree.tree_flatten(carry)
        if own != form or any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(given, states, strict=True)):
            raise RuntimeError("Expected init and carry to have same metadata")
        results, shape = pytree.tree_flatten(told[1])
        found.append(results)
    if reverse:
        found.reverse()
    joined = [stack(each, 0).movedim(0, dim) if isinstance(each[0], Tensor) else each[0] for each in zip(*found, strict=True)]
    return carry, pytree.tree_unflatten(joined, shape)


__all__ = ["scan"]
