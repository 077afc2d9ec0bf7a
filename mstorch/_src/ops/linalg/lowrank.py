"""A few singular values or eigenvalues of large matrices, and ``torch.lu``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .... import return_types
from ...core.dtype import float32
from ...core.modes import modes
from ...core.tensor_base import TensorBase, is_tracked
from ...core.warned import warn_once
from .._dispatch import deliver, without_grad
from ..memory.creation import zeros
from ..random.random import randn
from ..reduce.reduce import mean
from ..shape import views
from ..shape.join import cat
from ..shape.shape import diag_embed
from .linalg import lu_factor_ex
from .linalg_factor import attach, qr
from .linalg_spectral import eigh
from .linalg_spectral import svd as full_svd


def lu(A: TensorBase, pivot: bool = True, get_infos: bool = False, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return L and U in one matrix, and the pivots (from 1); with ``get_infos`` also the position of the first zero pivot (0 for none)."""
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
        "future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
        "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
        "should be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    found = lu_factor_ex(A, pivot=pivot, check_errors=False)
    result = found if get_infos else tuple(found)[:2]
    if out is not None:
        return deliver(tuple(result), out)
    return return_types._lu_with_info(tuple(result)) if get_infos else result


def _basis(A: TensorBase, q: int, niter: int, M: TensorBase | None) -> TensorBase:
    """Return orthonormal columns that approximately span the range of ``A - M`` (https://arxiv.org/abs/0909.4061, algorithm 4.4)."""

    def times(matrix: Any, offset: Any, columns: TensorBase) -> Any:
        found = matrix @ columns
        return found if offset is None else found - offset @ columns

    adjoint, offset = A.mH, None if M is None else M.mH
    columns = qr(times(A, M, randn(A.shape[-1], q, dtype=A._ms_dtype, device=A.device)))[0]
    for _ in range(niter):
        columns = qr(times(adjoint, offset, columns))[0]
        columns = qr(times(A, M, columns))[0]
    return columns


def svd_lowrank(A: TensorBase, q: int | None = 6, niter: int | None = 2, M: TensorBase | None = None) -> tuple[Any, Any, Any]:
    """Return the ``q`` largest singular values of ``A - M`` with their vectors, by random projection: U, S and V."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if M is not None:
        M = views.broadcast_to(M, A._ms_shape)
    turned = A.shape[-2] < A.shape[-1]
    if turned:
        A, M = A.mH, None if M is None else M.mH
    columns = _basis(A, q, niter, M)
    inner = columns.mH @ A
    if M is not None:
        inner = inner - columns.mH @ M
    u, s, vh = full_svd(inner, full_matrices=False)
    u, v = columns @ u, vh.mH
    return (v, s, u) if turned else (u, s, v)


def pca_lowrank(A: TensorBase, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """Return the principal components of the rows of A, by ``svd_lowrank`` (of the centred rows): U, S and V."""
    rows, columns = A._ms_shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - mean(A, (-2,), True) if center else A, q, niter)


def _eigen_backward(gradients: Any, outputs: Any, inputs: Any) -> Any:
    gw, gv = gradients
    values, vectors = outputs
    found = None
    if gw is not None:
        found = vectors @ diag_embed(gw) @ vectors.mT
    if gv is not None:
        # The gradient of an eigenvector uses the pseudo-inverse (λ - A)⁺ for its eigenvalue λ.
        w, v = eigh(inputs[0])
        gaps = views.unsqueeze(values, -2) - views.unsqueeze(w, -1)
        near = gaps.abs() < 1e-6 * w.abs().amax(-1, keepdim=True).unsqueeze(-1)
        parts = ((v.mT @ gv) / gaps.masked_fill(near, 1)).masked_fill(near, 0)
        part = (v @ parts) @ vectors.mT
        found = part if found is None else found + part
    return (None if found is None else (found + found.mT) / 2,)


Tracker = Callable[["_LOBPCG"], None]


class _LOBPCG:
    """The state passed to a ``tracker``: ``A B iK X S E R ivars fvars bvars tvars iparams fparams bparams method``."""

    def __init__(self, A: Any, B: Any, X: Any, iK: Any, iparams: Any, fparams: Any, bparams: dict[str, Any], method: str, tracker: Any):
        self.A, self.B, self.X, self.iK, self.method, self.tracker = A, B, X, iK, method, tracker
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        n, k = iparams["n"], iparams["k"]
        self.R, self.S, self.E = X, zeros((n, 3 * k), dtype=X._ms_dtype, device=X.device), zeros((k,), dtype=X._ms_dtype, device=X.device)
        self.ivars = {"istep": 0, "converged_count": 0, "iterations_left": iparams["niter"]}
        self.fvars: dict[str, float] = {}
        self.bvars: dict[str, bool] = {}
        self.tvars: dict[str, Any] = {}

    def _rayleigh_ritz(self, S: TensorBase) -> tuple[Any, Any]:
        """Return eigenvalues (the wanted ones first) and eigenvectors in the span of S, whose columns may be linearly dependent."""
        gram = S.mT @ (S if self.B is None else self.B @ S)
        scale, turn = eigh(gram)
        limit = float(scale.abs().max().item()) * (1e-12 if S._ms_dtype is not float32 else 1e-6)
        kept = (scale > limit).nonzero().reshape(-1)
        S = S @ (turn.index_select(1, kept) / scale.index_select(0, kept).sqrt())
        values, vectors = eigh(S.mT @ (self.A @ S))
        if self.bparams["largest"]:
            values, vectors = values.flip(0), vectors.flip(1)
        return values, S @ vectors

    def run(self) -> None:
        """Iterate until the residuals are small (A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001) 517)."""
        k, limit = self.iparams["k"], self.iparams["niter"]
        values, vectors = self._rayleigh_ritz(self.X)
        directions = None
        norm_a = float(self.A.norm().item()) if hasattr(self.A, "norm") else 1.0
        while True:
            self.E, self.X = values[:k], vectors[:, :k]
            right = self.X if self.B is None else self.B @ self.X
            self.R = self.A @ self.X - right * self.E
            residuals = self.R.norm(dim=0) / (self.X.norm(dim=0) * (norm_a + self.E.abs()))
            self.tvars["rerr"] = residuals
            self.ivars["converged_count"] = int((residuals < self.fparams["tol"]).sum().item())
            self.ivars["iterations_left"] = limit - self.ivars["istep"]
            if self.tracker is not None:
                self.tracker(self)
            if self.ivars["converged_count"] >= k or self.bvars.get("force_stop") or 0 <= limit <= self.ivars["istep"]:
                return
            self.ivars["istep"] += 1
            search = self.R if self.iK is None else self.iK @ self.R
            parts = [self.X, search / search.norm(dim=0).clamp(min=1e-30)]
            if directions is not None:
                parts.append(directions)
            self.S = cat(parts, 1)
            values, vectors = self._rayleigh_ritz(self.S)
            moved = vectors[:, :k]
            left = moved - self.X @ (right.mT @ moved)
            directions = left / left.norm(dim=0).clamp(min=1e-30)


def lobpcg(
    A: TensorBase, k: int | None = None, B: TensorBase | None = None, X: TensorBase | None = None, n: int | None = None,
    iK: TensorBase | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Tracker | None = None, ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None, ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the k largest (or smallest) generalized eigenvalues of symmetric A and positive-definite B, and their vectors.

    Differs from torch: both values of ``method`` use the same orthogonalized iteration; the ``ortho_*`` parameters have no effect.
    """
    _check_matrices(A, B)
    size = A._ms_shape[-1]
    count = (1 if X is None else X._ms_shape[-1]) if k is None else k
    vectors = (count if n is None else n) if X is None else X._ms_shape[-1]
    if size < 3 * vectors:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number of requested "
            f"eigenpairs (={vectors})"
        )
    eps = {"float32": 1.2e-07, "float64": 2.23e-16}[A._ms_dtype.name]
    settings = (
        {"m": size, "n": vectors, "k": count, "niter": 1000 if niter is None else niter},
        {"tol": eps**0.5 if tol is None else tol},
        {"largest": True if largest is None else largest},
        "ortho" if method is None else method,
        tracker,
    )
    if is_tracked(A) and modes.grad:
        A = (A + A.mT) / 2

    def solve(a: TensorBase, b: Any, x: Any, inverse: Any) -> tuple[Any, Any]:
        x = randn(size, vectors, dtype=a._ms_dtype, device=a.device) if x is None else x
        state = _LOBPCG(a, b, x, inverse, *settings)
        state.run()
        return state.E, state.X

    with without_grad():
        pair = _of_each_matrix(solve, A.detach(), B, X, iK)
    values, vecs = attach("LOBPCGBackward", _eigen_backward, (A,), tuple(item.contiguous() for item in pair))
    return values, vecs


def _check_matrices(A: TensorBase, B: TensorBase | None) -> None:
    shape = A._ms_shape
    if len(shape) < 2 or shape[-2] != shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and B._ms_shape != shape:
        raise AssertionError(f"A and B must have the same shape, got {A.shape} and {B.shape}")
    if not A._ms_dtype.is_floating_point:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {A._ms_dtype.name} != float")
    if is_tracked(A) and modes.grad and B is not None:
        raise ValueError("lobpcg.backward() currently does not support the case of `B != None`")


def _of_each_matrix(solve: Callable[..., tuple[Any, Any]], plain: TensorBase, *others: TensorBase | None) -> tuple[Any, ...]:
    """Return the solution of a matrix, or the stacked solutions of a batch of them."""
    batch, size = plain._ms_shape[:-2], plain._ms_shape[-1]
    if not batch:
        return solve(plain, *others)
    matrices = plain.reshape(-1, size, size)
    lists = [None if item is None else item.reshape(-1, *item._ms_shape[-2:]) for item in others]
    pairs = [solve(matrices[i], *(None if item is None else item[i] for item in lists)) for i in range(matrices._ms_shape[0])]
    return tuple(cat([pair[i].unsqueeze(0) for pair in pairs]).reshape(*batch, *pairs[0][i]._ms_shape) for i in (0, 1))
