"""torch.sparse: operations on sparse tensors.

Differs from torch: the gradient of a dense operand is dense, except that of ``nn.Embedding(sparse=True)``; the gradient of a sparse leaf is
always sparse, also through ``torch.mm`` and ``+``. Semi-structured sparsity, which needs CUDA, does not exist.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Number
from .._src.core.dtype import int64
from .._src.core.formats import layout, sparse_coo, sparse_csc, sparse_csr
from .._src.core.sparse_parts import is_sparse
from .._src.core.tensor_base import array_of
from .._src.hook import missing as _missing
from .._src.leaving import Block, each
from .._src.namespace.legacy_types import SPARSE
from .._src.ops._dispatch import type_word
from .._src.sparse import coo
from .._src.sparse.base import WORDS, index_tensor, like
from .._src.sparse.convert import to_dense
from .._src.sparse.coo import coalesce
from .._src.sparse.products import addmm as _addmm
from .._src.sparse.products import sampled_addmm
from .._src.sparse.products import sparse_mm as mm
from .._src.sparse.reduce import log_softmax, softmax
from .._src.sparse.reduce import sparse_sum as sum
from .._tensor import Tensor


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1.0, alpha: Number = 1.0) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)`` for a sparse ``mat1``, differentiable in all three."""
    if not is_sparse(mat1):
        return mat.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return _addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def _word(layout: layout) -> str:
    return WORDS.get(layout, "Strided")


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: layout | None = None) -> Tensor:
    """Return a sparse matrix with the rows of ``diagonals`` at ``offsets`` (0: main diagonal, positive: above it)."""
    if diagonals.dim() not in (1, 2):
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.dim() > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if offsets._ms_dtype is not int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {type_word(offsets._ms_dtype)}")
    lines = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    places = np.asarray(array_of(offsets)).reshape(-1)
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    rows, columns = (int(length) for length in shape)
    if lines.dim() != 2 or places.size != lines.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({lines.shape[0]}) does not match the number of offsets ({places.size})"
        )
    if np.unique(places).size != places.size:
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {_word(layout)}")
    line, column = (part.reshape(-1) for part in np.indices((places.size, lines.shape[1])))
    row = column - places[line]
    inside = (row >= 0) & (row < rows) & (column < columns)
    where = np.stack([row[inside], column[inside]])
    flat = lines.reshape(-1)
    values = coo.taken(flat, (line * lines.shape[1] + column)[inside])
    made = coo.sparse_coo_tensor(index_tensor(where), values, (rows, columns), check_invariants=coo.is_checking())
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)


class check_sparse_tensor_invariants(Block):
    """Context manager and decorator that sets whether new sparse tensors are validated; also ``enable()`` and ``disable()``."""

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return whether sparse tensors are validated."""
        return coo.is_checking()

    @staticmethod
    def enable() -> None:
        """Enable the validation of sparse tensors."""
        coo._checking[0] = True

    @staticmethod
    def disable() -> None:
        """Disable the validation of sparse tensors."""
        coo._checking[0] = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance.")
        before = self.is_enabled()
        self.at_end(each(
            functools.partial(operator.setitem, coo._checking, 0, before), functools.partial(setattr, self, "saved_state", None)
        ))  # fmt: skip
        self.saved_state = before
        coo._checking[0] = self.state

    def __call__(self, mth: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(mth)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``gradcheck`` for functions of sparse tensors, which are passed by their values."""

    @functools.wraps(gradcheck)
    def checked(func: Callable[..., Any], inputs: Sequence[Tensor], **kwargs: Any) -> bool:
        kwargs.pop("masked", None)
        given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        whole = [coalesce(item) if is_sparse(item) and item._layout is coo.sparse_coo else item for item in given]
        plain = [item._values_part.detach().requires_grad_(item.requires_grad) if is_sparse(item) else item for item in whole]

        def run(*values: Any) -> Any:
            results = func(*(like(item, value) if is_sparse(item) else value for item, value in zip(whole, values)))
            many = results if isinstance(results, (tuple, list)) else (results,)
            return tuple(to_dense(result) if is_sparse(result) else result for result in many)

        return gradcheck(run, tuple(plain), **kwargs)

    return checked


globals().update(SPARSE)

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags",
    "sum",
]  # fmt: skip

__getattr__ = _missing(__name__)
