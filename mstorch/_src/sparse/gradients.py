"""Gradients of sparse tensors: at a tensor's own indices, and sparse gradients of dense leaves."""
from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..core.above import above
from ..core.formats import sparse_coo
from ..core.sparse_parts import MAKERS, is_sparse
from ..core.tensor_base import TensorBase, is_tracked
from ..ops.memory.from_data import made
from ..tape import accumulate
from ..tape.bare import bare_of, bare_twin, dressed
from ..tape.moving import beside
from ..tape.node import Accumulate, Node, edge_of, named
from .base import host, index_tensor, like, sparse
from .compressed import places
from .coo import coalesce, flat, taken


def where_of(tensor: Any) -> tuple[Array, Any]:
    """Return indices (sparse dimensions, nnz) and values (nnz, *) of a tensor of any sparse layout."""
    if tensor._layout is sparse_coo:
        return host(tensor._index[0]), tensor._values_part
    return places(tensor)


def values_at(source: Any, target: Any) -> Any:
    """Return the elements of ``source`` (dense or sparse, of the same size) at the indices of ``target``, shaped like its values."""
    where, own = where_of(target)
    count = where.shape[0]
    wanted = flat(where, target._size)
    if not is_sparse(source):
        found = taken(source.reshape((math.prod(target._size[:count]), *target._size[count:])), wanted)
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
        found = found * beside(made(hit.astype(found._ms_dtype.np).reshape(-1, *([1] * (found.dim() - 1)))), found)
    return found.reshape(target._values_part.shape)


def masked_gradient(leaf: Any, gradient: Tensor) -> Tensor:
    """Return the gradient of the sparse tensor ``leaf``, coalesced, from the gradient of its values."""
    if leaf._layout is not sparse_coo or leaf._coalesced:
        return like(leaf, gradient)
    where = host(leaf._index[0])
    order, first = np.unique(flat(where, leaf._size), return_index=True)
    if order.size == where.shape[1] and (np.diff(first) > 0).all():
        return sparse(sparse_coo, leaf._index, gradient, leaf._size, True)
    return sparse(sparse_coo, (index_tensor(where[:, first]),), taken(gradient, first), leaf._size, True)


class _Places(Node):
    """Autograd node between a sparse tensor and its values; ``function(tensor, gradient)`` converts the gradient of one to that of the
    other."""

    __slots__ = ("tensor", "function")
    tensor: Any
    function: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradient converted by ``function``, as a tuple of one."""
        return (bare_of(self.function(self.tensor, dressed(gradients[0])), recorded),)


def _places(label: str, tensor: Tensor, edge: Any, function: Callable[..., Any]) -> Any:
    node: Any = named(_Places, label)((edge,))
    node.tensor, node.function = tensor.detach(), function
    return node


def follow_values(tensor: Any, values: Tensor) -> None:
    """Set the node of a new sparse tensor so that its gradient, taken at its indices, flows to the values from which it was made."""
    label = "SparseCooTensorWithDimsAndTensors" if tensor._layout is sparse_coo else "SparseCompressedTensor"
    tensor._ms_node = _places(f"{label}Backward0", tensor, edge_of(values), lambda own, gradient: values_at(gradient, own))


def recorded_values(tensor: Any) -> TensorBase:
    """Return an alias of a sparse tensor's values whose gradient flows to the sparse tensor."""
    values = bare_twin(tensor._kept)
    values._ms_node = _places("ValuesBackward0", tensor, edge_of(tensor), masked_gradient)
    return values


class SparseAccumulate(Accumulate):
    """The accumulation node of a sparse leaf, whose gradient may have another layout."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Accumulate the gradient into the leaf's ``grad``."""
        tensor, gradient = self.tensor, dressed(gradients[0])
        if not is_tracked(tensor):
            return ()
        auto = tensor._ms_auto
        held = auto.grad
        if held is None:
            auto.grad = gradient.clone()  # cloned, because the gradient may also belong to another leaf
        elif recorded or (is_sparse(held) and not is_sparse(gradient)):
            auto.grad = accumulate.add(held, gradient)
        else:
            held.add_(gradient)
        for hook in list((auto.post or {}).values()):
            hook(tensor)
        return ()


class End:
    """Replacement for the weak reference ``Auto.accumulator`` of a sparse leaf. A call returns the leaf's accumulation node, and makes a
    new node if the old one has been freed."""

    __slots__ = ("tensor", "node")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.node = weakref.ref(tensor), None

    def __call__(self) -> SparseAccumulate:
        found = None if self.node is None else self.node()
        if found is None:
            found = SparseAccumulate(self.tensor())
            self.node = weakref.ref(found)  # type: ignore[assignment]
            hooks = found.tensor._ms_auto.hooks
            if hooks:
                found.pre = {0: hooks}
        return found


def _rows(indices: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    return sparse(sparse_coo, (indices.detach(),), values, size)


MAKERS["coo"] = _rows
above.sparse_gradients = sys.modules[__name__]
