"""Gradients of sparse leaves, and sparse gradients of dense ones."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._core.above import above
from .._core.formats import sparse_coo
from .._core.sparse_parts import MAKERS
from .._ops import views
from .._ops.from_data import made
from .base import host, index_tensor, is_sparse, like, sparse
from .compressed import places
from .coo import coalesce, flat, taken


def where_of(tensor: Any) -> tuple[np.ndarray, Any]:
    """Indices (sparse dimensions, nnz) and values (nnz, *) of a tensor of any sparse layout."""
    if tensor._layout is sparse_coo:
        return host(tensor._index[0]), tensor._values_part
    return places(tensor)


def values_at(source: Any, target: Any) -> Any:
    """The elements of ``source`` (dense or sparse, of the same size) where ``target`` has some, in its values' shape."""
    where, own = where_of(target)
    count = where.shape[0]
    wanted = flat(where, target._size)
    if not is_sparse(source):
        found = taken(source.reshape((views.numel_of(target._size[:count]), *target._size[count:])), wanted)
        return found.reshape(target._values_part.shape)
    there, values = where_of(source)
    have = flat(there, source._size)
    order = np.argsort(have, kind="stable")
    if (np.diff(have[order]) == 0).any():
        source = coalesce(source if source._layout is sparse_coo else sparse(sparse_coo, (index_tensor(there),), values, source._size))
        return values_at(source, target)
    if not have.size:
        return own.reshape(target._values_part.shape) * 0
    place = np.minimum(np.searchsorted(have[order], wanted), have.size - 1)
    hit = have[order][place] == wanted
    found = taken(values, order[place])
    if not hit.all():
        found = found * made(hit.astype(found._dtype.np).reshape(-1, *([1] * (found.dim() - 1))))
    return found.reshape(target._values_part.shape)


def masked_gradient(leaf: Any, gradient: Any) -> Any:
    """The gradient of a sparse leaf from that of its values: the same places, each once."""
    if leaf._layout is not sparse_coo or leaf._coalesced:
        return like(leaf, gradient)
    where = host(leaf._index[0])
    order, first = np.unique(flat(where, leaf._size), return_index=True)
    if order.size == where.shape[1] and (np.diff(first) > 0).all():
        return like(leaf, gradient)
    return sparse(sparse_coo, (index_tensor(where[:, first]),), taken(gradient, first), leaf._size)


def _rows(indices: Any, values: Any, size: Any) -> Any:
    return sparse(sparse_coo, (indices.detach(),), values, size)


MAKERS["coo"] = _rows


above.sparse_gradients = sys.modules[__name__]
