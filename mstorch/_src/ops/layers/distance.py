"""Distance and similarity of vectors."""
from __future__ import annotations

import numpy as np

from ...backend.arrays import Array
from ...backend.errors import not_for
from ...backend.host.distance import euclidean, euclidean_slope
from ...backend.table import kernel
from ...core.dtype import dtype
from ...core.one_device import OneDevice
from ...core.promotion import promote_types
from ...core.tensor_base import TensorBase, array_of, tensor_of
from ...tape.whole import followed, in_one_piece, record
from .._autocast import FLOAT32, FLOAT32_ON_DEVICES
from .._dispatch import broadcast_shape, call, deliver, type_word, wrap_dim
from .._named import node_called
from .._numbers import refuse_tracked
from .._one_dtype import expect_dtype
from .._operation import operation
from ..elementwise.compare import clamp_min
from ..elementwise.elementwise import abs as abs_of
from ..elementwise.elementwise import add, div, mul, sub
from ..indexing.index import index_select
from ..memory.from_data import made
from ..reduce.reduce import sum as sum_of
from ..shape import views

_p_norm = kernel("p_norm")


def p_norm(input: TensorBase, p: float, dim: int, keepdim: bool = False, share: bool = True) -> TensorBase:
    """Return the p-norm over one or several dimensions."""
    refuse_tracked(p)
    if input._ms_dtype.is_complex:
        input = abs_of(input)
    rank = len(input._ms_shape)
    dims = tuple(wrap_dim(d, rank) for d in ((dim,) if isinstance(dim, int) else dim))
    return call(_p_norm, (input,), float(p), dims, keepdim, share)


@operation(autocast=FLOAT32_ON_DEVICES, one_device=OneDevice("clamp_min__Tensor"))
def cosine_similarity(x1: TensorBase, x2: TensorBase, dim: int = 1, eps: float = 1e-08) -> TensorBase:
    """Return the cosine of the angle between vectors along ``dim``; norms are clamped to at least ``eps``."""
    refuse_tracked(eps)
    kind = promote_types(x1._ms_dtype, x2._ms_dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {type_word(kind)}")
    x1, x2 = (x if x._ms_dtype is kind else x.to(kind) for x in (x1, x2))
    common = broadcast_shape(x1._ms_shape, x2._ms_shape)
    x1, x2 = views.expand(x1, common), views.expand(x2, common)
    first = clamp_min(p_norm(x1, 2, dim, True), eps)
    second = clamp_min(p_norm(x2, 2, dim, True), eps)
    return sum_of(mul(div(x1, first), div(x2, second)), dim)


def _refuse_half(name: str, kind: dtype) -> None:
    if kind.itemsize == 2:
        raise not_for(name, kind.name)


@node_called("NormBackward1")
def pairwise_distance(x1: TensorBase, x2: TensorBase, p: float = 2, eps: float = 1e-06, keepdim: bool = False) -> TensorBase:
    """Return the p-norm of ``x1 - x2 + eps`` over the last dimension."""
    refuse_tracked(eps)
    difference = add(sub(x1, x2), eps)
    return p_norm(difference, p, len(difference._ms_shape) - 1, keepdim)


@operation(autocast=FLOAT32_ON_DEVICES)
@node_called("PdistBackward0", "input result")
def pdist(input: TensorBase, p: float = 2) -> TensorBase:
    """Return the p-norm distances between all pairs of rows of (N, M): (N * (N - 1) / 2)."""
    shape = input._ms_shape
    if len(shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(shape)}D")
    if input._ms_dtype.is_integral:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(shape[0], 1)
    if not first.size:
        return mul(sum_of(views.narrow(input, 0, 0, 0), 1), 0) if shape[0] == 0 else sum_of(views.narrow(input, 0, 0, 0), 1)
    _refuse_half("pdist", input._ms_dtype)
    left = index_select(input, 0, made(first.astype(np.int64)))
    right = index_select(input, 0, made(second.astype(np.int64)))
    return p_norm(sub(left, right), p, 1, share=False)


@operation(autocast=FLOAT32)
@node_called("CdistBackward0", "x1 x2 result")
def cdist(x1: TensorBase, x2: TensorBase, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary") -> TensorBase:
    """Return the p-norm distances between all rows of (*, P, M) and (*, R, M): (*, P, R)."""
    a, b = x1._ms_shape, x2._ms_shape
    for name, tensor, shape in (("X1", x1, a), ("X2", x2, b)):
        if not tensor._ms_dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {type_word(tensor._ms_dtype)}"
            )
        if len(shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(shape)}D")
    expect_dtype(x1._ms_dtype, x2)
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    lead = broadcast_shape(a[:-2], b[:-2])
    if a[-1] == 0 or 0 in lead or a[-2] == 0 or b[-2] == 0:
        # A sum over no elements: zeros that autograd tracks.
        first = views.unsqueeze(sum_of(x1, -1), -1)
        return mul(add(first, views.unsqueeze(sum_of(x2, -1), -2)), 0)
    products = compute_mode == "use_mm_for_euclid_dist" or compute_mode != "donot_use_mm_for_euclid_dist" and max(a[-2], b[-2]) > 25
    if p != 2 or not products:
        _refuse_half("cdist", x1._ms_dtype)
    if p == 2 and products and a[:-2] == b[:-2] and x1._ms_dtype.itemsize > 2 and in_one_piece((x1, x2)):
        return _by_product(x1, x2)
    return _by_differences(x1, x2, p)


def _by_differences(x1: TensorBase, x2: TensorBase, p: float = 2) -> TensorBase:
    difference = sub(views.unsqueeze(x1, -2), views.unsqueeze(x2, -3))
    return p_norm(difference, p, len(difference._ms_shape) - 1, share=False)


def _by_product(x1: TensorBase, x2: TensorBase) -> TensorBase:
    """Return the Euclidean distances of (*, P, M) and (*, R, M) with equal leading dimensions, as one node."""
    a, b = (array_of(x).reshape(-1, *x._ms_shape[-2:]) for x in (x1, x2))
    found = euclidean(a, b)
    result = tensor_of(found.reshape(*x1._ms_shape[:-1], x2._ms_shape[-2]))
    if not followed((x1, x2)):
        return result

    def slope(g: Array, x: Array, y: Array) -> tuple[Array, ...]:
        parts = euclidean_slope(g.reshape(found.shape), x.reshape(a.shape), y.reshape(b.shape), found)
        return parts[0].reshape(x.shape), parts[1].reshape(y.shape)

    recorded: TensorBase = record(result, (x1, x2), "EuclideanDistBackward0", slope, _by_differences, unchanged=True)
    return recorded


def normalize(input: TensorBase, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: TensorBase | None = None) -> TensorBase:
    """Return the input divided by its p-norm over ``dim``, clamped to at least ``eps``."""
    if input._ms_dtype.is_integral:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {type_word(input._ms_dtype)}"
        )
    length = views.expand(clamp_min(p_norm(input, p, dim, True), eps), input._ms_shape)
    result = div(input, length)
    return result if out is None else deliver(result, out)
