"""Products of sparse matrices with dense and sparse ones."""
from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Number
from ..core.above import above
from ..core.dtype import bfloat16, float16, float32
from ..core.formats import sparse_coo
from ..core.overriding import is_taken
from ..core.sparse_parts import is_sparse
from ..ops._autocast import lowered, state
from ..ops._dispatch import finish
from ..ops._one_dtype import expect_dtype
from ..ops.indexing.index import index_select
from ..ops.shape import views
from ..ops.shape.join import cat
from .base import COMPRESSED, index_tensor, layout_word, like, sparse
from .convert import to_dense, to_sparse_coo
from .coo import added, coalesce, flat, taken
from .elementwise import add, stored
from .forms import form
from .gradients import where_of
from .shape import transpose


def _matrix(tensor: Tensor, name: str) -> None:
    if tensor.dim() != 2:
        raise RuntimeError(f"{name}: matrices expected, got {tensor.dim()}D tensor")


def _times_dense(input: Any, dense: Tensor) -> Tensor:
    """Return the product of a sparse (n, m) and a dense (m, p) matrix, as weighted sums of rows of the dense matrix."""
    if tuple(dense.shape)[0] != input._size[1]:
        if input._layout is not sparse_coo:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({input._size[0]}x{input._size[1]} and {dense.shape[0]}x{dense.shape[1]})"
            )
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {input._size[1]}, got {dense.shape[0]}")
    expect_dtype(input._ms_dtype, dense)
    where, values = where_of(input)
    flat(where, input._size)  # raises for indices out of range
    if not where.shape[1]:
        return (dense[:0].sum(0, keepdim=True) * 0).expand(input._size[0], dense.shape[1]).clone()
    kind = dense._ms_dtype
    if kind in (float16, bfloat16):  # many small terms: summed in float32, as in torch, in backward too
        dense, values = dense.to(float32), values.to(float32)
    rows = index_select(dense, 0, index_tensor(where[1]))
    found = added(values.unsqueeze(1) * rows, where[0], input._size[0])
    return found if found._ms_dtype is kind else found.to(kind)


def _times_sparse(first: Any, second: Any) -> Tensor:
    """Return the product of two coalesced COO matrices."""
    if first._size[1] != second._size[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({first._size[0]}x{first._size[1]} and {second._size[0]}x{second._size[1]})"
        )
    expect_dtype(first._ms_dtype, second)
    left, right = coalesce(to_sparse_coo(first)), coalesce(to_sparse_coo(second))
    (a, x), (b, y) = where_of(left), where_of(right)
    starts = np.searchsorted(b[0], np.arange(second._size[0] + 1))
    counts = (starts[1:] - starts[:-1])[a[1]] if a.shape[1] else np.zeros(0, np.int64)
    mine = np.repeat(np.arange(a.shape[1]), counts)
    offset = np.arange(mine.size) - np.repeat(np.cumsum(counts) - counts, counts)
    other = starts[a[1]][mine] + offset if mine.size else np.zeros(0, np.int64)
    where = np.stack([a[0][mine], b[1][other]])
    product = taken(x, mine) * taken(y, other)
    return coalesce(sparse(sparse_coo, (index_tensor(where),), product, (first._size[0], second._size[1])))


@form("mm")
@form("spmm")
@form("dsmm")
def mm(input: Any, mat2: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the product of two matrices, one or both of them sparse; sparse if both are."""
    if state.on and out is None and not (is_sparse(input) and is_sparse(mat2)):
        return lowered(mm, input, mat2)
    _matrix(input, "addmm")
    if is_sparse(mat2) and mat2.dim() != 2:
        _matrix(mat2, "addmm")
    if mat2.dim() > 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.dim()}-D tensor" if input._layout is not sparse_coo else (
            f"The expanded size of the tensor ({mat2.shape[1]}) must match the existing size ({mat2.shape[-1]}) of a batch of matrices"
        ))  # fmt: skip
    if mat2.dim() != 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if is_sparse(input) and is_sparse(mat2):
        found = _times_sparse(input, mat2)
        both = input._layout in COMPRESSED[:2] and mat2._layout in COMPRESSED[:2]
        return stored(found.to_sparse(layout=COMPRESSED[0]) if both else found, out)
    if is_sparse(input):
        return finish(_times_dense(input, mat2), out)
    if input.shape[1] != mat2._size[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and {mat2._size[0]}x{mat2._size[1]})"
        )
    product = _times_dense(transpose(mat2, 0, 1), input.t()).t()
    return finish(product if mat2._layout is sparse_coo else product.contiguous(), out)


@form("mv")
def mv(input: Any, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a sparse matrix and a dense vector."""
    if state.on and out is None:
        return lowered(mv, input, vec)
    if not is_sparse(input) or is_sparse(vec):
        raise NotImplementedError("mv has kernels for a sparse matrix with a dense vector only; use to_dense()")
    if input.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"mv: two dim tensor 'self' and one dim tensor 'vec' expected, got {input.dim()}D and {vec.dim()}D")
    if vec.shape[0] != input._size[1]:
        if input._layout is not sparse_coo:
            rows, columns = input._size
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vec.shape[0]})")
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return finish(_times_dense(input, vec.unsqueeze(1)).squeeze(1), out)


@form("bmm")
def bmm(input: Any, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the products of a COO batch of matrices (b, n, m) with dense ones (b, m, p)."""
    if state.on and out is None:
        return lowered(bmm, input, mat2)
    if not is_sparse(input) or input.dim() != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has {input.sparse_dim()}")
    if is_sparse(mat2) or mat2.dim() != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {mat2.dim()}")
    count, rows, inner = input._size
    if mat2.shape[0] != count or mat2.shape[1] != inner:
        raise RuntimeError("bmm_sparse: 'self.size(0) == mat2.size(0) and self.size(2) == mat2.size(1)' is not satisfied")
    expect_dtype(input._ms_dtype, mat2)
    where, values = where_of(input)
    picked = index_select(mat2.reshape(count * inner, mat2.shape[2]), 0, index_tensor(where[0] * inner + where[2]))
    summed = added(values.unsqueeze(1) * picked, where[0] * rows + where[1], count * rows)
    return finish(summed.reshape(count, rows, mat2.shape[2]), out)


@form("matmul")
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a sparse matrix with a matrix or vector, or of a dense matrix with a sparse one."""
    if input.dim() == 2 and other.dim() == 1:
        return mv(input, other, out=out)
    if input.dim() == 1 and other.dim() == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if input.dim() == 2 and other.dim() == 2:
        return mm(input, other, out=out)
    raise RuntimeError("expand is unsupported for Sparse tensors")


@form("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Number = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    if state.on and out is None and not is_sparse(mat2):
        return lowered(functools.partial(addmm, beta=beta, alpha=alpha), input, mat1, mat2)
    if not is_sparse(mat2) and mat2.dim() != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.dim()}-D tensor")
    product: Any = mm(mat1, mat2)
    if is_sparse(product) and not is_sparse(input) and sparse_coo not in (mat1._layout, mat2._layout):
        product = to_dense(product)
    if is_sparse(product) or is_sparse(input):
        if is_sparse(product) and not is_sparse(input):
            raise RuntimeError(
                "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got 'mat1' with "
                f"layout {_layout(mat1)} and 'mat2' with layout {_layout(mat2)}"
            )
        if not is_sparse(product):
            raise RuntimeError(f"addmm_sparse_dense: expected strided result tensor, got tensor with layout {_layout(input)}")
        if product._layout is not input._layout and {product._layout, input._layout} <= set(COMPRESSED):
            product = product.to_sparse(layout=input._layout)
        return stored(product * alpha if beta == 0 else add(input * beta, product * alpha), out)
    if is_sparse(mat1) and mat1._layout is not sparse_coo:
        input = views.expand(input, tuple(product.shape))
    # With ``beta`` 0 the input is ignored.
    return finish(product * alpha if beta == 0 else input * beta + product * alpha, out)


@form("addmv")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat @ vec)`` with a sparse ``mat``."""
    product = mv(mat, vec) * alpha
    return finish(product if beta == 0 else input * beta + product, out)


def linear(input: Any, weight: Any, bias: Tensor | None = None) -> Any:
    """Return ``input @ weight.T + bias`` with a sparse input or weight."""
    turned = weight if weight.dim() < 2 else transpose(weight, 0, 1) if is_sparse(weight) else weight.t()
    if bias is None or not is_sparse(input) and weight._layout is not sparse_coo:
        product = matmul(input, turned)
        return product if bias is None else product + bias
    return addmm(bias, input, turned)


def _layout(tensor: Tensor) -> str:
    return "Sparse" if is_sparse(tensor) else "Strided"


def sparse_mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """Implement ``torch.sparse.mm``: a matrix product; for CSR, ``reduce`` selects the reduction instead of a sum."""
    if reduce is None:
        if not (is_sparse(mat1) or is_sparse(mat2)):
            return mat1.mm(mat2)
        if is_sparse(mat1) and mat1._layout is not sparse_coo and mat2.dim() == 1:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        if is_sparse(mat1) and is_sparse(mat2) and mat1._layout is mat2._layout is COMPRESSED[1]:
            return mm(mat1, mat2).to_sparse(layout=COMPRESSED[1])
        if is_sparse(mat2) and not is_sparse(mat1) and mat1.dim() == 2:
            return mm(transpose(mat2, 0, 1), mat1.t()).t()  # torch computes the transposed product, which determines the result's strides
        return mm(mat1, mat2)
    if is_taken(mat1, mat2) and reduce in ("sum", "mean"):
        return above.torch.ops.aten._sparse_mm_reduce_impl.default(mat1, mat2, reduce)[0]
    if not is_sparse(mat1) or mat1._layout is sparse_coo or is_sparse(mat2):
        raise NotImplementedError("Could not run 'aten::_sparse_mm_reduce_impl': it takes a CSR matrix and a dense one")
    reduce = f"a{reduce}" if reduce in ("max", "min") else reduce
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    if reduce == "sum":
        return mm(mat1, mat2)
    where, values = where_of(mat1)
    rows = values.unsqueeze(1) * index_select(mat2, 0, index_tensor(where[1]))
    base = rows.new_zeros((mat1._size[0], rows.shape[1]))
    return base.index_reduce(0, index_tensor(where[0]), rows, reduce, include_self=False)


def smm(input: Any, mat2: Tensor) -> Any:
    """Return the product of a COO matrix with a dense one, as a COO matrix."""
    rows = input._size[0]
    product = mm(input, mat2)
    used = np.unique(where_of(input)[0][0])
    columns = np.arange(product.shape[1])
    where = np.stack([np.repeat(used, columns.size), np.tile(columns, used.size)])
    values = taken(product, used).reshape(-1)
    return sparse(sparse_coo, (index_tensor(where),), values, (rows, columns.size))


def sspaddmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` for COO matrices and a dense ``mat2``, as a COO matrix."""
    product = smm(mat1, mat2)
    if input._size != product._size:
        raise RuntimeError(f"sspaddmm: Argument #1: Expected size {list(product._size)}, got {list(input._size)}")
    first, second = where_of(input * beta), where_of(product * alpha)
    where = np.concatenate([first[0], second[0]], 1)
    return sparse(sparse_coo, (index_tensor(where),), cat([first[1], second[1]]), input._size)


def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a COO matrix with a dense one, as a hybrid COO tensor of rows."""
    product = mm(mat1, mat2)
    used = np.unique(where_of(mat1)[0][0])
    return sparse(sparse_coo, (index_tensor(used[None]),), taken(product, used), tuple(product.shape))


def sampled_addmm(
    input: Any, mat1: Tensor, mat2: Tensor, *, beta: complex = 1.0, alpha: complex = 1.0, out: Tensor | None = None
) -> Tensor:
    """Return ``alpha * (mat1 @ mat2)`` at the indices of a CSR matrix, plus ``beta`` times that matrix."""
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if is_sparse(matrix):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {layout_word(matrix)}")
    if input.dim() == 2 and mat1.dim() > 2:
        input = _repeated(input, tuple(mat1.shape[:-2]))
    where, values = where_of(input)
    *lead, count, inner = mat1.shape
    width = mat2.shape[-1]
    batch = np.ravel_multi_index(tuple(where[:-2]), tuple(lead)) if lead else 0
    many = math.prod(tuple(lead))
    rows = index_select(mat1.reshape((many * count, inner)), 0, index_tensor(batch * count + where[-2]))
    columns = index_select(mat2.mT.reshape((many * width, inner)), 0, index_tensor(batch * width + where[-1]))
    found = (rows * columns).sum(1) * alpha + values * beta
    return stored(like(input, found.reshape(input._values_part.shape)), out)


def _repeated(matrix: Any, batch: tuple[int, ...]) -> Tensor:
    """Return a compressed matrix repeated for each matrix of a batch."""
    index = tuple(part.expand((*batch, *part.shape)).contiguous() for part in matrix._index)
    values = matrix._values_part
    return sparse(matrix._layout, index, values.expand((*batch, *values.shape)).contiguous(), (*batch, *matrix._size), True)
