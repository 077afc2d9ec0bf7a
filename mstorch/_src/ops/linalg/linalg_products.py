"""torch.linalg: powers and products of matrices and vectors, tensors as linear maps."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.dtype import int64
from ...core.tensor_base import TensorBase, array_of
from .._autocast import FLOAT32_ON_CPU, LOWER, LOWER_ON_DEVICES, WIDEST_ON_DEVICES
from .._dispatch import cpp_word, finish, finish_safely, type_word, wrap_dim
from .._memory_order import row_major
from .._named import node_called
from .._operation import operation
from ..memory.creation import eye
from ..reduce import measure, reduce
from ..shape import views
from ..shape.join import cat
from . import contract
from .linalg_factor import _LinAlgError, check_floating, solve, solve_matrices

PUBLIC_IN = "linalg"


def matrix_power(A: TensorBase, n: int, *, out: TensorBase | None = None) -> TensorBase:
    """Return square matrices to the power ``n``."""
    return contract.matrix_power(A, n, out=out)


@operation(autocast=LOWER)
def vecdot(x: TensorBase, y: TensorBase, *, dim: int = -1, out: TensorBase | None = None) -> TensorBase:
    """Return the inner products along ``dim``, with the first operand conjugated."""
    check_floating(x, "linalg.vecdot", low=True)
    if x._ms_dtype is not y._ms_dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {type_word(x._ms_dtype)} and y of type "
            f"{type_word(y._ms_dtype)} instead"
        )
    if isinstance(out, TensorBase) and out._ms_dtype is not x._ms_dtype:
        raise RuntimeError(f"linalg.vecdot: Expected out of dtype{type_word(x._ms_dtype)} but found {type_word(out._ms_dtype)}")
    return finish(reduce.sum(x.conj_physical() * y, dim), out)


@operation(autocast=WIDEST_ON_DEVICES)
@node_called("LinalgCrossBackward0")
def cross(input: TensorBase, other: TensorBase, *, dim: int = -1, out: TensorBase | None = None) -> TensorBase:
    """Return the cross product of vectors of length 3 along ``dim``."""
    a, b = len(input._ms_shape), len(other._ms_shape)
    if a != b:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    wrap_dim(dim, a)
    if input._ms_shape[dim] != 3 or other._ms_shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input._ms_shape[dim]} and {other._ms_shape[dim]}"
        )
    return measure.cross(input, other, dim, out=out)


def diagonal(A: TensorBase, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return a view of the matrices' diagonals."""
    return views.diagonal(A, offset, dim1, dim2)


def vander(x: TensorBase, N: int | None = None) -> TensorBase:
    """Return the powers of each element, from 0 on, along a new last dimension."""
    if x._ms_dtype.name == "bool":
        raise RuntimeError("Vandermonde matrix not supported for bool")
    x = x if x._ms_shape else views.unsqueeze(x, 0)
    shape = x._ms_shape
    count = shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    wide = x if not x._ms_dtype.is_integral else x.to(int64)
    spread = views.expand(views.unsqueeze(wide, -1), (*shape, max(count - 1, 0)))
    return cat((wide.new_ones((*shape, 1)), spread.cumprod(-1)), -1)


@operation(autocast=LOWER_ON_DEVICES)
def multi_dot(tensors: Sequence[Any], *, out: TensorBase | None = None) -> TensorBase:
    """Return the product of several matrices, in the order with the fewest multiplications; the first and last may be vectors."""
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    items = list(tensors)
    row, column = len(items[0]._ms_shape) == 1, len(items[-1]._ms_shape) == 1
    items[0] = views.unsqueeze(items[0], 0) if row else items[0]
    items[-1] = views.unsqueeze(items[-1], -1) if column else items[-1]
    for i, item in enumerate(items):
        if len(item._ms_shape) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(item._ms_shape)}D")
    sizes = [items[0]._ms_shape[0]] + [item._ms_shape[1] for item in items]
    for place, (left, right) in enumerate(zip(items, items[1:])):
        if left._ms_shape[1] != right._ms_shape[0]:
            (a, b), (c, d) = left._ms_shape, right._ms_shape
            raise RuntimeError(f"multi_dot(): tensors {place} and {place + 1} with shapes [{a}, {b}] and [{c}, {d}] cannot be multiplied")
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        return items[i] if i == j else product(i, split[i][j]) @ product(split[i][j] + 1, j)

    found = product(0, count - 1)
    if row or column:
        found = views.reshape(found, found._ms_shape[int(row) : 1 if column else 2])
    if isinstance(out, TensorBase) and out._ms_dtype is not found._ms_dtype:
        raise RuntimeError(
            f"multi_dot(): expected out tensor to have dtype {cpp_word(found._ms_dtype)} but got {cpp_word(out._ms_dtype)}"
        )
    return finish(found, out)


@operation(autocast=FLOAT32_ON_CPU)
def tensorinv(A: TensorBase, ind: int = 2, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse of A as a linear map from its last dimensions to the first ``ind``."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    shape = A._ms_shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    found, info = solve_matrices(views.reshape(A, (rows, columns)), eye(rows, dtype=A._ms_dtype, device=A.device))
    if array_of(info).any():
        raise _LinAlgError(
            f"inv: The diagonal element {int(array_of(info))} is zero, the inversion could not be completed because the input matrix is "
            "singular."
        )
    found = views.reshape(found, (*shape[ind:], *shape[:ind]))
    return finish_safely(found if out is None else row_major(found), out, "tensorinv", recorded=True)


@operation(autocast=FLOAT32_ON_CPU)
def tensorsolve(A: TensorBase, B: TensorBase, dims: Sequence[int] | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the X of ``tensordot(A, X, X.ndim) = B``."""
    if dims is not None:
        rank = len(A._ms_shape)
        A = views.movedim(A, tuple(dims), tuple(range(rank - len(dims), rank)))
    rest = A._ms_shape[len(B._ms_shape) :]
    rows, columns = math.prod(rest), math.prod(B._ms_shape)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {rows} != {columns}"
        )
    found = solve(views.reshape(A, (rows, rows)), views.reshape(B, (rows,)))
    return finish_safely(views.reshape(found, rest), out, "tensorsolve", recorded=True)


