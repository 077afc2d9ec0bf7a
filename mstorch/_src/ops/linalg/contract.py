"""Contractions over named or counted dimensions: einsum, tensordot, outer and inner products, matrix powers."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...backend.errors import not_for
from ...core.formats import contiguous_format, memory_format
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase
from ...core.warned import warn_once
from .._autocast import FLOAT32_ON_CPU, LOWER_ON_DEVICES, WIDEST_ON_DEVICES
from .._dispatch import finish, finish_recorded, finish_safely, wrap_dim
from .._named import node_called
from .._operation import operation
from .._overlaps import refuse_partly
from ..memory.creation import eye
from ..shape import views
from .linalg_factor import attach, inv
from .matmul import dot, matmul


@operation(autocast=WIDEST_ON_DEVICES)
def tensordot(a: TensorBase, b: TensorBase, dims: Any = 2, out: TensorBase | None = None) -> TensorBase:
    """Return the sum of products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over two lists of dimensions."""
    over_a, over_b = _contracted(a, b, dims)
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._ms_dtype is not b._ms_dtype:
        raise RuntimeError("both inputs should have same dtype")
    sa, sb = a._ms_shape, b._ms_shape
    for x, y in zip(over_a, over_b):
        if sb[y] == 1 and sa[x] != 1:
            a = a.sum(x, keepdim=True, dtype=a._ms_dtype)
        elif sa[x] == 1 and sb[y] != 1:
            b = b.sum(y, keepdim=True, dtype=b._ms_dtype)
        elif sa[x] != sb[y]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {sa[x]} in dim {x} and second has size {sb[y]} in dim {y}"
            )
    sa, sb = a._ms_shape, b._ms_shape
    over_a, over_b = [wrap_dim(d, len(sa)) for d in over_a], [wrap_dim(d, len(sb)) for d in over_b]
    rest_a = [d for d in range(len(sa)) if d not in over_a]
    rest_b = [d for d in range(len(sb)) if d not in over_b]
    inner = math.prod([sa[d] for d in over_a])
    rows, columns = [sa[d] for d in rest_a], [sb[d] for d in rest_b]
    left = views.reshape(views.permute(a, rest_a + over_a), (math.prod(rows), inner))
    right = views.reshape(views.permute(b, over_b + rest_b), (inner, math.prod(columns)))
    product = views.reshape(matmul(left, right), (*rows, *columns))
    words = "tensordot: Expected the output tensor to have dtype {kind}, but got an output tensor with dtype {out}"
    return product if out is None else finish_recorded(product, out, words)  # a view of the product, as in torch


def _contracted(a: TensorBase, b: TensorBase, dims: Any) -> tuple[list[int], list[int]]:
    """Return the dimensions of both tensors over which is summed."""
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        over_a, over_b = [list(d) if isinstance(d, (tuple, list)) else [d] for d in dims]
        return over_a, over_b
    if not isinstance(dims, int):
        wanted = "int or tuple[list[int], list[int]] or list[list[int]] containing two lists"
        raise RuntimeError(f"tensordot expects dims to be {wanted}, but got dims={dims}")
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(len(a._ms_shape), len(b._ms_shape)):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


def outer(input: TensorBase, vec2: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the outer product of two vectors."""
    for name, vector in (("self", input), ("vec2", vec2)):
        if len(vector._ms_shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(vector._ms_shape)}-D")
    column = views.unsqueeze(input, 1)
    return finish(column * vec2, out, column, vec2)


ger = outer


@operation(one_device=OneDevice())
def inner(input: Any, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the sum of products over the last dimension of both."""
    a, b = input._ms_shape, other._ms_shape
    if not a or not b:
        return finish(input * other, out)
    if a[-1] != b[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    return tensordot(input, other, ([-1], [-1]), out=out)


@operation(autocast=WIDEST_ON_DEVICES)
@node_called("VdotBackward0")
def vdot(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inner product of two vectors, the first one conjugated."""
    return dot(input.conj_physical() if input._ms_dtype.is_complex else input, other, out=out)


def kron(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the Kronecker product: blocks of ``other`` scaled by the elements of ``input``."""
    refuse_partly(out, input, other, twice=False)
    a, b = input._ms_shape, other._ms_shape
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    wide = [length for n in a for length in (n, 1)]
    deep = [length for n in b for length in (1, n)]
    product = views.unsafe_view(input, tuple(wide), fresh=False) * views.unsafe_view(other, tuple(deep), fresh=False)
    # As in torch, which views the product's memory in place, and rejects another memory order.
    return finish(views.unsafe_view(product, tuple(x * y for x, y in zip(a, b)), fresh=False), out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("TraceBackward0")
def trace(input: TensorBase) -> TensorBase:
    """Return the sum of the diagonal of a matrix."""
    if input._ms_dtype.category == 0:
        raise not_for("trace", "bool")
    if len(input._ms_shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(input._ms_shape)}")
    return views.diagonal(input).sum()


def matrix_power(input: TensorBase, n: int, *, out: TensorBase | None = None) -> TensorBase:
    """Return square matrices to the power ``n``."""
    shape = input._ms_shape
    if len(shape) < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    if n == 0:
        identity = views.expand(eye(shape[-1], dtype=input._ms_dtype, device=input.device), shape).clone(memory_format=_contiguous())
        return finish(attach("CopyBackwards", _no_gradient, (input,), (identity,))[0] if out is None else identity, out)
    copied = n == 1 or n >= 4 and n & (n - 1) == 0  # torch copies the last square to ``out``
    n, input = abs(n), inv(input) if n < 0 else input
    made, square = None, input
    while n:
        if n & 1:
            made = square if made is None else matmul(made, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return finish_safely(made.clone() if made is input else made, out, "matrix_power", recorded=copied)


def _no_gradient(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[Any]:
    return (None,)


def _contiguous() -> memory_format:
    return contiguous_format


@operation(autocast=LOWER_ON_DEVICES)
def chain_matmul(*matrices: TensorBase, out: TensorBase | None = None) -> TensorBase:
    """Return the product of several matrices, in the order with the fewest multiplications."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if len(matrix._ms_shape) != 2:
            raise RuntimeError(f"Tensor dimension is {len(matrix._ms_shape)}, expected 2 instead.")
    if len(matrices) == 1:
        return finish(matrices[0].clone(), out)
    lengths = [matrices[0]._ms_shape[0]] + [matrix._ms_shape[1] for matrix in matrices]
    return finish(_cheapest(matrices, lengths), out)


def _cheapest(matrices: Sequence[Any], lengths: list[int]) -> TensorBase:
    count = len(matrices)
    cost = [[0.0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            options = [
                (cost[i][k] + cost[k + 1][j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k) for k in range(i, j)
            ]
            cost[i][j], cut[i][j] = min(options)

    def product(i: int, j: int) -> TensorBase:
        if i == j:
            return matrices[i]
        k = cut[i][j]
        return matmul(product(i, k), product(k + 1, j))

    return product(0, count - 1)
