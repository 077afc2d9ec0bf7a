"""Joining tensors."""
from __future__ import annotations

from typing import Any

from .._backend.table import kernel
from .._core.promotion import promote_types
from .._core.tensor_base import value_of
from . import views
from ._dispatch import call, deliver, wrap_dim

_cat = kernel("cat")


def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Tensors of equal other dimensions joined along ``dim``; 1-d tensors of no elements are skipped."""
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    kind = tensors[0]._dtype
    for tensor in tensors[1:]:
        kind = promote_types(kind, tensor._dtype)
    shapes = [tuple(value_of(t).shape) for t in tensors]
    used = [i for i, shape in enumerate(shapes) if shape != (0,)]
    if not used:
        return _finish(tensors[0].to(kind).clone(), out)
    first = shapes[used[0]]
    for i, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    dim = wrap_dim(dim, len(first))
    for i in used:
        if len(shapes[i]) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shapes[i])}"
            )
        for d, (a, b) in enumerate(zip(first, shapes[i])):
            if d != dim and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor "
                    f"number {i} in the list."
                )
    return _finish(call(_cat, [tensors[i] for i in used], dim, dtype=kind), out)


def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Tensors of one shape joined along a new dimension."""
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tuple(value_of(tensors[0]).shape)
    for i, tensor in enumerate(tensors):
        own = tuple(value_of(tensor).shape)
        if own != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(own)} at entry {i}"
            )
    dim = wrap_dim(dim, len(first) + 1)
    return cat([views.unsqueeze(tensor, dim) for tensor in tensors], dim, out=out)


def _finish(result: Any, out: Any) -> Any:
    return result if out is None else deliver(result, out)


FUNCTIONS = ("cat", "stack")
METHODS = ()
