"""torch._higher_order_ops.associative_scan: prefix scan by an associative function, in logarithmically many steps."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import func
from .._src.ops._dispatch import wrap_dim
from .._src.ops.shape.join import cat, stack
from .._tensor import Tensor
from ..utils import _pytree as pytree

_OF_DEVICES = ("cuda", "xpu", "npu")


def _check(combine_fn: Any, leaves: list[Any], dim: int, reverse: int, combine_mode: str) -> int:
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise" and not all(leaf.device.type in _OF_DEVICES for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(leaf.is_sparse for leaf in leaves):
        raise ValueError("xs leaves must dense Tensors, consider using `to_dense()`")
    dim = wrap_dim(dim, leaves[0].ndim)
    if any(leaf.ndim <= dim or leaf.shape[dim] == 0 for leaf in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    return dim


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
    combine_mode: str = "pointwise"
) -> Any:
    """Return the prefix scan along ``dim`` by ``combine_fn``; with ``reverse`` from the end.

    ``xs`` is a tensor or a tree of tensors. With ``combine_mode="generic"``, ``combine_fn`` receives single slices, without the scanned
    dimension; else it receives several slices at once, stacked along dimension 0."""
    leaves, spec = pytree.tree_flatten(xs)
    dim = _check(combine_fn, leaves, dim, reverse, combine_mode)
    function = func.vmap(combine_fn) if combine_mode == "generic" else combine_fn

    def combined(left: list[Any], right: list[Any]) -> list[Any]:
        return pytree.tree_leaves(function(pytree.tree_unflatten(left, spec), pytree.tree_unflatten(right, spec)))

    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    if reverse:
        rows = [row.flip(0) for row in rows]
    found = _scanned(combined, rows)
    if reverse:
        found = [row.flip(0) for row in found]
    return pytree.tree_unflatten([row.movedim(0, dim) for row in found], spec)


def _scanned(combined: Callable[[list[Any], list[Any]], list[Any]], rows: list[Any]) -> list[Any]:
    """Return the scan of ``rows`` along the first dimension.

    Neighbours are combined in pairs, and the pairs are scanned recursively: that yields the results at odd indices. Each of these, combined
    with the next row, yields a result at an even index."""
    count = rows[0].shape[0]
    if count < 2:
        return rows
    pairs = combined([row[0 : count - 1 : 2] for row in rows], [row[1:count:2] for row in rows])
    odd = _scanned(combined, pairs)
    if count == 2:
        return [cat([row[:1], result]) for row, result in zip(rows, odd, strict=True)]
    even = combined([result[: (count - 1) // 2] for result in odd], [row[2:count:2] for row in rows])
    results = []
    for row, late, soon in zip(rows, odd, even, strict=True):
        first = cat([row[:1], soon])
        paired = stack([first[: late.shape[0]], late], 1).flatten(0, 1)
        results.append(paired if count % 2 == 0 else cat([paired, first[-1:]]))
    return results


__all__ = ["associative_scan"]
