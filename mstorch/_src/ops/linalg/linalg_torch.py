"""torch.linalg's operations under their names in the torch namespace, and operations that only the torch namespace has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Array, within
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase
from ...core.warned import warn_once
from ...tape.moving import beside
from ...tape.ways import values_if_any
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import broadcast_shape, finish, finish_exactly, finish_safely, readable, type_word
from .._forms import Forms, accepting
from .._named import node_called
from .._numbers import refuse_tracked
from .._operation import operation
from ..elementwise.compare import where
from ..memory.creation import eye, zeros
from ..shape import views
from ..shape.shape import tril
from . import linalg
from . import linalg_factor as factor
from .linalg import check_scales, householder_product, permutation_of, pinv, triangles
from .linalg_det import det, signed_log
from .linalg_exp import matrix_exp
from .linalg_factor import (
    LinAlgError,
    attach,
    batch_of,
    by_columns,
    check_floating,
    check_square,
    check_system,
    geqrf,
    inv,
    triangular,
)  # fmt: skip
from .linalg_spectral import svd_parts, svdvals

inverse = accepting(inv, Forms({"input": "A"}))
orgqr = accepting(householder_product, Forms({"input": "A", "input2": "tau"}))


@operation(one_device=OneDevice())
@node_called("LuUnpackBackward0")
def lu_unpack(
    LU_data: TensorBase, LU_pivots: TensorBase, unpack_data: bool = True, unpack_pivots: bool = True, *,
    out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return P, L and U from the result of ``lu_factor``."""
    if unpack_pivots and LU_pivots._ms_dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function "
            "is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if len(LU_data._ms_shape) < 2:
        raise RuntimeError(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data._ms_shape)} instead")
    exchanges = readable(LU_pivots) if unpack_pivots else None
    if exchanges is not None and not within(exchanges, 1, LU_data._ms_shape[-2]):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"
        )
    nothing = zeros(0, dtype=LU_data._ms_dtype, device=LU_data.device)
    permutation = nothing
    if unpack_pivots:
        permutation = beside(permutation_of(LU_pivots, LU_data._ms_shape[-2], LU_data._ms_dtype), LU_data)
    lower, upper = triangles(LU_data) if unpack_data else (nothing, nothing)
    return finish_exactly(return_types.lu_unpack((permutation, lower, upper)), out)


@operation(forms=Forms({"input": "b"}), autocast=FLOAT32_ON_CPU, one_device=OneDevice("linalg_lu_solve"))
@node_called("LinalgLuSolveBackward0")
def lu_solve(b: TensorBase, LU_data: TensorBase, LU_pivots: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the X of ``A @ X = b`` from the LU factors of A."""
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced "
        "with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return linalg.lu_solve(LU_data, LU_pivots, b, out=out)


def slogdet(input: TensorBase, *, out: tuple[TensorBase, TensorBase] | None = None) -> Any:
    """Return the sign of the determinant and the logarithm of its absolute value."""
    return finish_exactly(return_types.slogdet(signed_log(input, "linalg.slogdet")), out)


def logdet(input: TensorBase) -> TensorBase:
    """Return the logarithm of the determinant; NaN if it is negative."""
    sign, log = signed_log(input, "logdet")
    if input.is_complex():
        return log + sign.log()
    return where(sign < 0, math.nan, log)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("LinalgPinvBackward0")
def pinverse(input: TensorBase, rcond: float = 1e-15) -> TensorBase:
    """Return the pseudo-inverse."""
    refuse_tracked(rcond)
    return pinv(input, rcond)


@operation(forms=Forms({"input": "B", "input2": "L"}), autocast=FLOAT32_ON_CPU)
def cholesky_solve(B: TensorBase, L: TensorBase, upper: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the X of ``A @ X = B`` from the Cholesky factor of A."""
    if len(B._ms_shape) < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {len(B._ms_shape)} dimensions instead")
    if len(L._ms_shape) < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {len(L._ms_shape)} dimensions instead")
    check_system(B, L, "cholesky_solve")
    batch = broadcast_shape(B._ms_shape[:-2], L._ms_shape[:-2])
    right, factors = batch_of(B, batch), batch_of(L, batch)
    found = triangular_pair(right.detach(), factors.detach(), upper)
    return finish_safely(attach("CholeskySolveBackward0", _solve_backward, (right, factors), (found,), upper)[0], out, "cholesky_solve")


def triangular_pair(right: TensorBase, factors: TensorBase, upper: bool) -> TensorBase:
    """Solve ``L @ L.mH @ X = right``, or ``U.mH @ U @ X = right``."""
    first, second = (factors.mH, factors) if upper else (factors, factors.mH)
    return triangular(second, triangular(first, right, False), True)


def _solve_backward(
    gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], upper: bool
) -> tuple[TensorBase, TensorBase]:
    # The factor's gradient is not cut to its triangle: torch's is not.
    gradient, factors = gradients[0], inputs[1]
    if gradient is None:
        return None, None
    right = cholesky_solve(gradient, factors, upper)
    part = right @ outputs[0].mH
    both = part + part.mH
    return right, -(factors @ both if upper else both @ factors)


def _inverse_backward(
    gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], upper: bool
) -> tuple[TensorBase]:
    gradient, factors = gradients[0], inputs[0]
    if gradient is None:
        return (None,)
    both = outputs[0] @ (gradient + gradient.mH) @ outputs[0]
    return (-(factors @ both if upper else both @ factors),)


def _zero_of(name: str, zero: Array) -> str:
    """Return torch's message that a diagonal element is zero; ``zero`` is a mask of the diagonals, of which the first True counts."""
    *batch, place = np.argwhere(zero)[0].tolist()
    element = f"(Batch element {int(np.ravel_multi_index(batch, zero.shape[:-1]))}): " if batch else ""
    return (
        f"{name}: {element}The diagonal element {place + 1} is zero, the inversion could not be completed because the input matrix "
        "is singular."
    )


@operation(forms=Forms({"input": "L"}), autocast=FLOAT32_ON_CPU)
def cholesky_inverse(L: TensorBase, upper: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse of A from its Cholesky factor."""
    check_square(L, "cholesky_inverse")
    check_floating(L, "cholesky_inverse")
    values = values_if_any(L)
    zero = None if values is None else np.diagonal(values, axis1=-2, axis2=-1) == 0
    if zero is not None and zero.any():
        raise LinAlgError(_zero_of("cholesky_inverse", zero))
    factors = L.detach()
    found = triangular_pair(batch_of(eye(L._ms_shape[-1], dtype=L._ms_dtype, device=L.device), L._ms_shape[:-2]), factors, upper)
    return finish_safely(attach("CholeskyInverseBackward0", _inverse_backward, (L,), (found,), upper)[0], out, "cholesky_inverse")


@operation(forms=Forms({"input2": "tau", "input3": "other"}), autocast=FLOAT32_ON_CPU)
@node_called("OrmqrBackward0")
def ormqr(
    input: TensorBase, tau: TensorBase, other: TensorBase, left: bool = True, transpose: bool = False, *, out: TensorBase | None = None
) -> TensorBase:
    """Return ``Q @ other`` (``other @ Q``, or with the adjoint of Q) for the full Q of ``geqrf``."""
    if len(input._ms_shape) < 2 or len(other._ms_shape) < 2:
        raise RuntimeError(f"torch.ormqr: {'input' if len(input._ms_shape) < 2 else 'other'} must have at least 2 dimensions.")
    side = -2 if left else -1
    if not tau._ms_shape:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if tau._ms_shape[-1:] != (min(other._ms_shape[side], input._ms_shape[-1]),):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if other._ms_shape[side] != input._ms_shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    check_scales("torch.ormqr", input, tau)
    if other._ms_shape[:-2] != input._ms_shape[:-2]:
        raise RuntimeError(
            f"torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got {list(other._ms_shape[:-2])}"
        )
    for word, tensor in (("tau", tau), ("other", other)):
        if tensor._ms_dtype is not input._ms_dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {word} to have the same dtype, but input has dtype{type_word(input._ms_dtype)} and "
                f"{word} has dtype {type_word(tensor._ms_dtype)}"
            )
    rows = input._ms_shape[-2]
    count = tau._ms_shape[-1]
    unit = tril(input, -1) + eye(rows, input._ms_shape[-1], dtype=input._ms_dtype, device=input.device)
    if isinstance(out, TensorBase) and out._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            "torch.ormqr: Expected input and result to have the same dtype, but input has "
            f"dtype{type_word(input._ms_dtype)} and result has dtype {type_word(out._ms_dtype)}"
        )
    found = other if left else other.mH
    order = range(count) if transpose is left else reversed(range(count))
    for i in order:
        vector = unit[..., :, i : i + 1]
        scale = views.unsqueeze(tau[..., i : i + 1], -1)
        found = found - (scale.conj_physical() if transpose is left else scale) * (vector @ (vector.mH @ found))
    return finish(by_columns(found if left else found.mH), out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("CholeskyBackward0")
def cholesky(input: TensorBase, upper: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the lower triangular L of ``A = L @ L.mH``, or with ``upper`` its adjoint."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\nL "
        "= torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
        "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all "
        "valid (symmetric positive definite) inputs."
    )
    check_floating(input, "cholesky")
    found, info = factor.cholesky_factor(input, upper)
    factor.check_info(info, factor.NOT_POSITIVE, "cholesky")
    return finish_safely(found, out, "cholesky")


@operation(autocast=FLOAT32_ON_CPU)
def svd(input: TensorBase, some: bool = True, compute_uv: bool = True, *, out: tuple[TensorBase, ...] | None = None) -> Any:
    """Return U, S and V with ``A = U @ diag(S) @ V.mH``."""
    if not compute_uv:
        *batch, rows, columns = input._ms_shape
        values = svdvals(input)
        left, right = (zeros((*batch, n, n), dtype=input._ms_dtype, device=input.device) for n in (rows, columns))
        return finish_exactly(return_types.svd((left, values, right)), out)
    u, s, vh = svd_parts(input, not some)
    return finish_exactly(return_types.svd((u, s, vh.mH)), out)


@operation(autocast=FLOAT32_ON_CPU)
def qr(input: TensorBase, some: bool = True, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return Q and R with ``A = Q @ R``."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
        "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
        "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return finish_exactly(return_types.qr(factor.qr(input, "reduced" if some else "complete")), out)


@operation(forms=Forms({"input": "b"}), autocast=FLOAT32_ON_CPU)
@node_called("TriangularSolveBackward0")
def triangular_solve(
    b: TensorBase, A: TensorBase, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
    out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return the X of ``A @ X = b`` for triangular A, and A."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    )
    for word, tensor in (("b", b), ("A", A)):
        if len(tensor._ms_shape) < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {word} to have at least 2 dimensions, but it has {len(tensor._ms_shape)} "
                "dimensions instead"
            )
    check_system(b, A, "triangular_solve")
    matrix, turned = (A.mT, not upper) if transpose else (A, upper)
    batch = broadcast_shape(A._ms_shape[:-2], b._ms_shape[:-2])
    found = triangular(matrix, b, turned, unitriangular)
    return finish_exactly(return_types.triangular_solve((found, by_columns(batch_of(A, batch).clone()))), out)


NAMED_METHODS = {"det": det, "inverse": inverse, "matrix_exp": matrix_exp, "geqrf": geqrf, "orgqr": orgqr}
