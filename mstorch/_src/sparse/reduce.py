"""Sums, softmax and norms of sparse tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..backend.errors import not_for
from ..core.dtype import dtype
from ..core.formats import sparse_coo
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import TensorBase, value_of
from ..ops._dispatch import wrap_dim, wrap_dims
from ..ops.memory.from_data import made
from ..tape.moving import beside
from .base import WORDS, host, index_tensor, like, sparse
from .convert import to_sparse_coo
from .coo import added, coalesce, taken
from .forms import form
from .nodes import record


def _numbers(dim: int | None) -> Any:
    return None if dim is None or (isinstance(dim, (tuple, list)) and not dim) else dim


@form("sum")
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Any:
    """Return the sum of all elements (dense), or over some dimensions."""
    if isinstance(dim, TensorBase):
        raise TypeError("sum(): argument 'dim' must be tuple of ints, not Tensor")
    source = input if dtype is None else input.to(dtype)
    if _numbers(dim) is None:
        return record("Sum", (source,), lambda: source._values_part.sum(), lambda gradient: (gradient.expand(source._size),))
    if source._layout is not sparse_coo:
        return _compressed_sum(source, dim, keepdim)
    rank, count = source.dim(), source.sparse_dim()
    dims = wrap_dims(dim, rank)
    values = source._values_part
    dense = tuple(d - count + 1 for d in dims if d >= count)
    if dense:
        values = values.sum(dense)
    kept = [d for d in range(count) if d not in dims]
    gone = [d for d in range(count) if d in dims]
    size = [source._size[d] for d in range(rank) if d not in dims]
    if not kept:
        if not keepdim or not gone:
            found: Any = values.sum(0) if gone else values
            return found.to(values._ms_dtype) if not keepdim else found.reshape([1 if d in dims else source._size[d] for d in range(rank)])
        total = values.sum(0, keepdim=True).to(values._ms_dtype)
        return _spread(total, source, dims)
    where = host(source._index[0])
    found = coalesce(sparse(sparse_coo, (index_tensor(where[kept]),), values, size, not gone and source._coalesced))
    return _with_ones(found, source, dims) if keepdim else found


def _with_ones(found: Any, source: Any, dims: tuple[int, ...]) -> Tensor:
    where, values, count = host(found._index[0]), found._values_part, source.sparse_dim()
    for d in sorted(dims):
        if d < count:
            where = np.insert(where, d, 0, axis=0)
        else:
            values = values.unsqueeze(d - count + 1)
    size = [1 if d in dims else source._size[d] for d in range(source.dim())]
    return sparse(sparse_coo, (index_tensor(where),), values, size)


def _spread(total: Any, source: Any, dims: tuple[int, ...]) -> Any:
    count = source.sparse_dim()
    for d in sorted(dims):
        if d >= count:
            total = total.unsqueeze(d - count + 1)
    size = [1 if d in dims else source._size[d] for d in range(source.dim())]
    return sparse(sparse_coo, (index_tensor(np.zeros((count, 1))),), total, size, True)


def _compressed_sum(input: Any, dim: int, keepdim: bool) -> Tensor:
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if input.dim() != 2:
        raise NotImplementedError("mstorch: sums over dimensions of compressed tensors with batch or dense dimensions are missing")
    return sum(to_sparse_coo(input), dim, True).to_sparse(layout=input._layout)


def sparse_sum(input: Any, dim: Any = None, dtype: dtype | None = None) -> Tensor:
    """Implement ``torch.sparse.sum``: over all elements, or over dimensions; sparse as long as a sparse dimension is left."""
    if not is_sparse(input):
        raise NotImplementedError("Could not run 'aten::_indices' with arguments from the 'CPU' backend: input is not sparse")
    if input._layout is not sparse_coo:
        if _numbers(dim) is None:
            coalesce(input)  # raises torch's error
        word = WORDS[input._layout]
        raise NotImplementedError(f"Could not run 'aten::_indices' with arguments from the '{word}CPU' backend.")
    if dim is not None and dtype is not None:
        input = like(input, input._values_part.to(dtype))
    if dim is None and dtype is not None:
        return input._values_part.to(dtype).sum()
    return input._values_part.sum() if _numbers(dim) is None else sum(input, dim)


def _grouped(input: Any, dim: int) -> tuple[Array, int]:
    where = host(input._index[0])
    rest = np.delete(where, dim, axis=0)
    if not rest.shape[0]:
        return np.zeros(where.shape[1], np.int64), int(where.shape[1] > 0)
    _, group = np.unique(rest, axis=1, return_inverse=True)
    group = group.reshape(-1)
    return group, int(group.max()) + 1 if group.size else 0


def _shifted(values: Tensor, group: Array, count: int) -> Tensor:
    """Return the values minus the maximum of their group, detached."""
    array = np.asarray(value_of(values.detach()).asnumpy())
    greatest = np.full((count, *array.shape[1:]), -np.inf, array.dtype)
    np.maximum.at(greatest, group, array)
    greatest[~np.isfinite(greatest)] = 0
    return values - beside(made(np.ascontiguousarray(greatest[group])), values)


def _normalized(input: Any, dim: int, dtype: dtype | None, name: str) -> Tensor:
    if not is_sparse(input) or input._layout is not sparse_coo:
        word = f"{WORDS[input._layout]}CPU" if is_sparse(input) else "CPU"
        raise NotImplementedError(f"Could not run 'aten::_sparse_{name}' with arguments from the '{word}' backend.")
    source = coalesce(input if dtype is None else like(input, input._values_part.to(dtype)))
    dim = wrap_dim(dim, source.dim())
    values, count = source._values_part, source.sparse_dim()
    if not values._ms_dtype.is_floating_point:
        raise not_for(name, values._ms_dtype.name)
    if dim >= count:
        return like(source, getattr(values, name)(dim - count + 1))
    group, groups = _grouped(source, dim)
    if not groups:
        return source
    moved = _shifted(values, group, groups)
    powers = moved.exp()
    totals = taken(added(powers, group, groups), group)
    return like(source, powers / totals if name == "softmax" else moved - totals.log())


def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Implement ``torch.sparse.softmax``: over the specified elements along a dimension; others count as -inf."""
    return _normalized(input, dim, dtype, "softmax")


def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Implement ``torch.sparse.log_softmax``: the logarithm of ``softmax``."""
    return _normalized(input, dim, dtype, "log_softmax")


@form("norm")
def norm(
    input: Tensor, p: int | str = "fro", dim: int | None = None, keepdim: bool = False, dtype: dtype | None = None,
    out: Tensor | None = None
) -> Tensor:
    """Return the norm of all elements."""
    if dim is not None and len(wrap_dims(dim, input.dim())) != input.dim():
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the "
            "input"
        )
    return coalesce(to_sparse_coo(input))._values_part.norm(2 if p in ("fro", None) else p)


@form("any")
def any_(input: Any, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return whether any element is True."""
    if dim is not None or input._layout is not sparse_coo:
        word = WORDS[input._layout]
        raise NotImplementedError(f"Could not run 'aten::any' with arguments from the '{word}CPU' backend.")
    return input._values_part.any()
