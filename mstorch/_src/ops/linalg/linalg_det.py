"""torch.linalg: determinants."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Array
from ...backend.table import kernel
from ...core.tensor_base import TensorBase, array_of, meta_tensor, tensor_of
from ...quiet import quiet
from ...tape.moving import beside
from ...tape.operands import computed
from ...tape.ways import values_if_any, ways
from .._dispatch import finish_exactly
from .._forms import Forms
from .._operation import operation
from ..memory.creation import eye
from ..shape import views
from .linalg_factor import attach, check_floating, check_square, finite, solve_matrices

PUBLIC_IN = "linalg"

_lu, _svd = kernel("linalg_lu_factor"), kernel("linalg_svd")


def _cofactors(A: TensorBase) -> Any:
    """Return the determinant's gradient from the SVD, which is also valid for singular matrices."""
    u, s, vh = map(array_of, computed(_svd, A.detach(), True))
    size = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, size)).copy()
    others[..., np.arange(size), np.arange(size)] = 1
    scale = np.linalg.det(u) * np.linalg.det(vh)
    found = (u * others.prod(-1)[..., None, :]) @ vh * np.conj(scale)[..., None, None]
    return beside(tensor_of(np.ascontiguousarray(found.astype(s.dtype if u.dtype.kind == "f" else u.dtype))), A)


def _det_backward(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[TensorBase]:
    (gradient,), (value,), (A,) = gradients, outputs, inputs
    if gradient is None:
        return (None,)
    inverse, info = solve_matrices(A.mH, eye(A._ms_shape[-1], dtype=A._ms_dtype, device=A.device))
    codes = values_if_any(info)
    if codes is not None and (codes.any() or not finite(inverse)):
        return (views.unsqueeze(views.unsqueeze(gradient, -1), -1) * _cofactors(A),)
    return (views.unsqueeze(views.unsqueeze(gradient * value.conj_physical(), -1), -1) * inverse,)


def _sign_of(A: TensorBase) -> tuple[Array, Array]:
    """Return the diagonal of U and the sign of the row permutation."""
    array, exchanged = map(array_of, computed(_lu, A.detach())[:2])
    odd = (exchanged != np.arange(1, exchanged.shape[-1] + 1)).sum(-1) % 2
    return np.diagonal(array, axis1=-2, axis2=-1), (1 - 2 * odd).astype(array.dtype)


@operation(forms=Forms({"input": "A"}))
def det(A: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the determinant of square matrices."""
    check_floating(A, "linalg.det")
    check_square(A, "linalg.det")
    return finish_exactly(attach("LinalgDetBackward0", _det_backward, (A,), (_product(A),))[0], out)


@ways(absent=lambda A: meta_tensor(A._ms_shape[:-2], A._ms_dtype))
def _product(A: TensorBase) -> TensorBase:
    """Return the determinant, without a gradient."""
    diagonal, sign = _sign_of(A)
    with quiet():  # a product that is too large is infinite
        return beside(tensor_of(np.array(diagonal.prod(-1) * sign, A._ms_dtype.np)), A)


def _slogdet_backward(gradients: Sequence[TensorBase | None], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> Any:
    (gs, gl), (sign, _), (A,) = gradients, outputs, inputs
    if gl is None and (gs is None or not A.is_complex()):
        return (None,)
    scale = None if gl is None else gl.to(A.dtype)
    if gs is not None and A.is_complex():
        part = (gs.conj_physical() * sign).imag.to(A.dtype) * -1j
        scale = part if scale is None else scale + part
    size = A._ms_shape[-1]
    right = views.unsqueeze(views.unsqueeze(scale, -1), -1) * eye(size, dtype=A._ms_dtype, device=A.device)
    return (solve_matrices(A.mH, right)[0],)


def signed_log(A: TensorBase, name: str) -> tuple[Any, Any]:
    check_floating(A, name)
    check_square(A, name)
    sign_, log_ = attach("LinalgSlogdetBackward0", _slogdet_backward, (A,), _sign_and_log(A))
    return sign_, log_


@ways(absent=lambda A: tuple(meta_tensor(A._ms_shape[:-2], kind) for kind in (A._ms_dtype, A._ms_dtype.to_real())))
def _sign_and_log(A: TensorBase) -> tuple[Any, ...]:
    """Return the sign of the determinant and the logarithm of its absolute value, without a gradient."""
    kinds = A._ms_dtype, A._ms_dtype.to_real()
    diagonal, sign = _sign_of(A)
    with quiet():
        size = np.abs(diagonal)
        turns = diagonal / np.where(size == 0, 1, size) if diagonal.dtype.kind == "c" else np.nan_to_num(np.sign(diagonal))
        sign = np.where((size == 0).any(-1), 0, sign * turns.prod(-1))
        log = np.log(size).sum(-1)
    return tuple(beside(tensor_of(np.array(part, kind.np)), A) for part, kind in zip((sign, log), kinds))


def slogdet(A: TensorBase, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return the sign of the determinant and the logarithm of its absolute value."""
    return finish_exactly(return_types.linalg_slogdet(signed_log(A, "linalg.slogdet")), out)
