"""Eigenvalues and singular values of torch.linalg, with gradients composed of tensor operations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.table import kernel
from ...core.tensor_base import TensorBase, recording
from ...tape.operands import computed
from ...tape.ways import values_if_any
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import finish_exactly, finish_safely, values_of
from .._operation import operation
from ..memory.creation import eye
from ..shape import views
from ..shape.shape import diag_embed
from .linalg_factor import (
    LinAlgError,
    attach,
    batch_element,
    by_columns,
    check_floating,
    check_matrix,
    check_square,
    finite,
    solve_matrices,
)

PUBLIC_IN = "linalg"

_svd, _svdvals, _eigh, _eig = (kernel(f"linalg_{name}") for name in ("svd", "svdvals", "eigh", "eig"))


def _gaps(values: Any, squares: bool = False) -> TensorBase:
    """Return ``values[j] - values[i]`` (or of squares), with 1 on the diagonal."""
    if squares:
        values = values * values
    gaps = views.unsqueeze(values, -2) - views.unsqueeze(values, -1)
    return gaps + eye(values._ms_shape[-1], dtype=values._ms_dtype, device=values.device)


_PHASE = "in the complex case are specified up to multiplication by e^{i phi}. The specified loss function depends on this "


def _check_phase(text: str, *products: TensorBase) -> None:
    """Raise torch's error if the loss depends on the phase of complex vectors: a diagonal of ``products`` has an imaginary part."""
    arrays = [array for array in map(values_of, products) if array is not None]
    if products[0].is_complex() and arrays:
        turns = sum(np.diagonal(array, axis1=-2, axis2=-1).imag for array in arrays)
        if not (np.abs(turns) <= 1e-2).all():
            raise RuntimeError(text)


def _eigh_backward(
    gradients: Sequence[TensorBase | None], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], triangle: str
) -> Any:
    gw, gv = gradients
    w, v = outputs
    inner = None
    if gv is not None:
        # Only the skew-Hermitian part turns the eigenvectors: the gradient is Hermitian, as the matrix.
        turned = v.mH @ gv
        _check_phase(f"linalg_eigh_backward: The eigenvectors {_PHASE}quantity, so it is ill-defined.", turned)
        inner = (turned - turned.mH) / (2 * _gaps(w))
        inner = inner - diag_embed(inner.diagonal(0, -2, -1))
    if gw is not None:
        part = diag_embed(gw.to(v.dtype))
        inner = part if inner is None else inner + part
    return (None if inner is None else v @ inner @ v.mH,)


_BY_PARTS = 26  # rows from which LAPACK's syevd divides a matrix: the eigenvectors of NaN are then NaN


def _refuse_divergence(A: TensorBase, UPLO: str, values_only: bool) -> None:
    """Raise torch's error for the first matrix with a NaN in its triangle, for which LAPACK's iteration does not converge (except where the
    NaN's row and column are zero outside the diagonal)."""
    size = A._ms_shape[-1]
    values = None if size < 3 or (size >= _BY_PARTS and not values_only) else values_if_any(A)
    if values is None:
        return
    wrong = np.isnan(values) & (np.tri(size, dtype=bool) if UPLO == "L" else np.tri(size, dtype=bool).T)
    wrong = wrong.any((-2, -1))
    if wrong.any():
        raise LinAlgError(
            f"linalg.eigh: {batch_element(wrong)}The algorithm failed to converge because the input matrix is ill-conditioned or has too "
            f"many repeated eigenvalues (error code: {size - 2 if values_only else size - 1})."
        )


def eigh_pair(A: TensorBase, UPLO: str, name: str, values_only: bool = False) -> tuple[Any, ...]:
    """Return eigenvalues and eigenvectors of Hermitian matrices."""
    check_floating(A, name)
    check_square(A, name)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    _refuse_divergence(A, UPLO.upper(), values_only)
    values, vectors = computed(_eigh, A, UPLO.upper())
    return attach("LinalgEighBackward0", _eigh_backward, (A,), (values, by_columns(vectors)), UPLO, kept=())


@operation(autocast=FLOAT32_ON_CPU)
def eigh(A: TensorBase, UPLO: str = "L", *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return ascending eigenvalues and eigenvectors of Hermitian matrices."""
    return finish_exactly(return_types.linalg_eigh(eigh_pair(A, UPLO, "linalg.eigh")), out)


@operation(autocast=FLOAT32_ON_CPU)
def eigvalsh(A: TensorBase, UPLO: str = "L", *, out: TensorBase | None = None) -> TensorBase:
    """Return ascending eigenvalues of Hermitian matrices."""
    return finish_exactly(eigh_pair(A, UPLO, "linalg.eigh", values_only=True)[0], out)


def _eig_backward(gradients: Sequence[TensorBase | None], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> Any:
    gw, gv = gradients
    w, v = outputs
    if gw is None and gv is None:
        return (None,)
    if gv is None:
        return (solve_matrices(v.mH, views.unsqueeze(gw, -1) * v.mH)[0],)
    inner = v.mH @ gv
    _check_phase(f"linalg_eig_backward: The eigenvectors {_PHASE}quantity, so it is ill-defined.", inner)
    scale = views.unsqueeze(inner.diagonal(0, -2, -1).real, -2)
    inner = (inner - (v.mH @ v) * scale) / _gaps(w).conj_physical()
    inner = inner - diag_embed(inner.diagonal(0, -2, -1))
    if gw is not None:
        inner = inner + diag_embed(gw)
    return (solve_matrices(v.mH, inner @ v.mH)[0],)


def eig_pair(A: TensorBase, name: str) -> tuple[Any, ...]:
    """Return complex eigenvalues and eigenvectors."""
    check_floating(A, name)
    check_square(A, name)
    if not finite(A):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, vectors = computed(_eig, A)
    return attach("LinalgEigBackward0", _eig_backward, (A,), (values, by_columns(vectors)), kept=())


@operation(autocast=FLOAT32_ON_CPU)
def eig(A: TensorBase, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return complex eigenvalues and eigenvectors of square matrices."""
    found = return_types.linalg_eig(eig_pair(A, "linalg.eig"))
    return finish_safely(found, out, "torch.linalg.eig", "eigenvalues", "eigenvectors")


@operation(autocast=FLOAT32_ON_CPU)
def eigvals(A: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return complex eigenvalues of square matrices."""
    found = eig_pair(A, "linalg.eigvals")[:1]
    return finish_safely(found, None if out is None else (out,), "torch.linalg.eigvals", "eigenvalues")[0]


def _svd_backward(gradients: Any, outputs: list[TensorBase], inputs: list[TensorBase]) -> Any:
    gu, gs, gvh = gradients
    u, s, vh = outputs
    rank = s._ms_shape[-1]
    rows, columns = inputs[0]._ms_shape[-2:]
    u, vh = u[..., :rank], vh[..., :rank, :]
    across, down = views.unsqueeze(s, -2), views.unsqueeze(s, -1)
    inner = None if gs is None else diag_embed(gs.to(u.dtype))
    gaps = None if gu is None and gvh is None else _gaps(s, squares=True)
    turns = [u.mH @ gu[..., :rank]] if gu is not None else []
    turns += [vh @ gvh[..., :rank, :].mH] if gvh is not None else []
    if turns:
        _check_phase(f"svd_backward: The singular vectors {_PHASE}phase term, making it ill-defined.", *turns)
    if gu is not None:
        gu = gu[..., :rank]
        turn = turns[0]
        turn = turn - turn.mH
        part = turn / gaps * across
        if turn.is_complex():
            part = part - diag_embed(part.diagonal(0, -2, -1)) + diag_embed(turn.diagonal(0, -2, -1) / (s * 2))
        inner = part if inner is None else inner + part
    if gvh is not None:
        gvh = gvh[..., :rank, :]
        turn = turns[-1]
        turn = turn - turn.mH
        part = down * (turn / gaps)
        if turn.is_complex():
            part = part - diag_embed(part.diagonal(0, -2, -1))
        inner = part if inner is None else inner + part
    if inner is None:
        return (None,)
    found = u @ inner @ vh
    if gu is not None and rows > rank:
        found = found + ((gu - u @ (u.mH @ gu)) / across) @ vh
    if gvh is not None and columns > rank:
        found = found + u @ ((gvh - (gvh @ vh.mH) @ vh) / down)
    return (found,)


def _check_svd(A: TensorBase) -> None:
    """Raise torch's errors unless the tensor holds floating-point matrices without NaN; infinities only make the results NaN."""
    check_floating(A, "linalg.svd")
    check_matrix(A, "linalg.svd")
    values = values_if_any(A)
    wrong = None if values is None else np.isnan(values).any((-2, -1))
    if wrong is not None and wrong.any():
        raise LinAlgError(
            f"linalg.svd: {batch_element(wrong)}The algorithm failed to converge because the input matrix contained non-finite values."
        )


def svd_parts(A: TensorBase, full: bool) -> tuple[Any, ...]:
    """Return U, S and Vh."""
    _check_svd(A)
    u, s, vh = computed(_svd, A, full)
    return attach("LinalgSvdBackward0", _svd_backward, (A,), (by_columns(u), s, by_columns(vh)), kept=())


@operation(autocast=FLOAT32_ON_CPU)
def svd(A: TensorBase, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """Return U, S and Vh with ``A = U @ diag(S) @ Vh``, S in descending order."""
    _check_driver(driver)
    return finish_exactly(return_types.linalg_svd(svd_parts(A, full_matrices)), out)


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError("linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


@operation(autocast=FLOAT32_ON_CPU)
def svdvals(A: TensorBase, *, driver: str | None = None, out: TensorBase | None = None) -> Any:
    """Return the singular values in descending order."""
    _check_driver(driver)
    if recording((A,)):
        return finish_exactly(svd_parts(A, False)[1], out)
    _check_svd(A)
    return finish_exactly(computed(_svdvals, A), out)
