"""Functions of matrices that are not finite, singular, or empty: torch's errors, never NumPy's, and torch's values where it returns some.
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

NAN, INF = math.nan, math.inf
MATRICES: dict[str, Any] = {
    "NaN": [[NAN, NAN], [NAN, NAN]],
    "a NaN last": [[2, 1], [1, NAN]],
    "a NaN first": [[NAN, 1], [1, 2]],
    "infinities": [[INF, INF], [INF, INF]],
    "an infinity last": [[2, 1], [1, INF]],
    "an infinity first": [[INF, 1], [1, 2]],
    "-infinity": [[2, 1], [1, -INF]],
    "a batch": [[[1, 2], [2, 4]], [[NAN, 1], [1, 2]], [[2, 0], [0, 1]]],
    "wide, with NaN": [[1, 2, 3], [4, 5, NAN]],
    "high, with NaN": [[1, 2], [3, NAN], [4, 5]],
    "large, of NaN": np.full((40, 40), NAN),
    "singular": [[1, 2], [2, 4]],
    "zeros": [[0, 0], [0, 0]],
    "not positive": [[-1, 0], [0, 1]],
    "not symmetric": [[2, 9], [1, 3]],
    "empty": np.zeros((0, 0)),
    "an empty batch": np.zeros((0, 2, 2)),
    "without rows": np.zeros((0, 3)),
    "without columns": np.zeros((3, 0)),
    "a vector": [NAN, 1],
}


def _of(*names: str) -> dict[str, Callable[[Any, Any], Any]]:
    def call(name: str) -> Callable[[Any, Any], Any]:
        def run(torch: Any, A: Any) -> Any:
            found = torch
            for part in name.split("."):
                found = getattr(found, part)
            return found(A)

        return run

    return {name: call(name) for name in names}


# Functions whose results have to equal torch's, except where the second table says otherwise.
EQUAL = {
    **_of(*[
        f"linalg.{name}" for name in (
            "cholesky cholesky_ex inv inv_ex det slogdet svdvals lu lu_factor lu_factor_ex matrix_rank matrix_norm vector_norm vander"
        ).split()
    ]),
    **_of("cholesky", "det", "logdet", "slogdet", "inverse", "trace"),
    "solve": lambda torch, A: torch.linalg.solve(A, torch.ones_like(A)),
    "solve on the right": lambda torch, A: torch.linalg.solve(A, torch.ones_like(A), left=False),
    "solve_ex": lambda torch, A: torch.linalg.solve_ex(A, torch.ones_like(A)),
    "solve_triangular": lambda torch, A: torch.linalg.solve_triangular(A, torch.ones_like(A), upper=True),
    "lu_solve": lambda torch, A: torch.linalg.lu_solve(*torch.linalg.lu_factor(A), torch.ones_like(A)),
    "matrix_power": lambda torch, A: torch.linalg.matrix_power(A, -1),
    **{f"matrix_norm {p}": lambda torch, A, p=p: torch.linalg.matrix_norm(A, p) for p in ("nuc", "fro", 2, -2, 1, INF)},
    **{f"cond {p}": lambda torch, A, p=p: torch.linalg.cond(A, p) for p in ("fro", 1, INF)},
}  # fmt: skip
SAME_ERRORS = {
    **_of(*[f"linalg.{name}" for name in "svd eigh eigvalsh qr ldl_factor_ex cond pinv matrix_exp".split()]),
    **_of("svd", "qr", "pinverse", "geqrf", "cholesky_inverse", "matrix_exp"),
    "cond nuc": lambda torch, A: torch.linalg.cond(A, "nuc"),
    "pinv of a Hermitian": lambda torch, A: torch.linalg.pinv(A, hermitian=True),
    "cholesky_solve": lambda torch, A: torch.cholesky_solve(torch.ones_like(A), A),
    "tensorinv": lambda torch, A: torch.linalg.tensorinv(A, 1),
    "tensorsolve": lambda torch, A: torch.linalg.tensorsolve(A, torch.ones_like(A)[..., 0]),
}
# Called in mstorch only: torch's MKL crashes, or torch raises an internal assertion.
ALONE = {
    **_of(*[f"linalg.{name}" for name in "eig eigvals ldl_factor".split()], "svd_lowrank", "pca_lowrank", "lobpcg"),
    **{f"lstsq {d}": lambda torch, A, d=d: torch.linalg.lstsq(A, torch.ones_like(A), driver=d) for d in "gels gelsy gelsd gelss".split()},
    "ldl_solve": lambda torch, A: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.ones_like(A)),
    "householder_product": lambda torch, A: torch.linalg.householder_product(A, A[..., 0, :]),
    "ormqr": lambda torch, A: torch.ormqr(A, A[..., 0, :], A),
    "matrix_rank of a Hermitian": lambda torch, A: torch.linalg.matrix_rank(A, hermitian=True),
    "gradient of det": lambda torch, A: torch.autograd.grad(torch.linalg.det(A.requires_grad_()).sum(), A),
    "gradient of slogdet": lambda torch, A: torch.autograd.grad(torch.linalg.slogdet(A.requires_grad_())[1].sum(), A),
    "gradient of svdvals": lambda torch, A: torch.autograd.grad(torch.linalg.svdvals(A.requires_grad_()).sum(), A),
    "gradient of eigh": lambda torch, A: torch.autograd.grad(torch.linalg.eigvalsh(A.requires_grad_()).sum(), A),
}  # fmt: skip
# LAPACK libraries stop at other places; torch computes norms in another way.
OTHERWISE = {
    ("cond 1", "without rows"), ("cond 1", "without columns"), ("cond inf", "without rows"), ("cond inf", "without columns"),
    ("cholesky", "without rows"), ("cholesky", "without columns"),
}  # fmt: skip


def _run(torch: Any, call: Callable[[Any, Any], Any], rows: Any) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(torch, torch.tensor(np.array(rows, np.float32)))
        except Exception as error:  # noqa: BLE001 - what is raised is compared
            return error


def _flat(found: Any) -> list[np.ndarray]:
    if isinstance(found, (tuple, list)):
        return [part for item in found for part in _flat(item)]
    return [np.asarray(found.detach().resolve_conj().numpy())]


def _refuse_foreign(found: Any, what: str) -> None:
    if isinstance(found, Exception):
        home = type(found).__module__.partition(".")[0]
        assert home in ("builtins", "mstorch", "torch"), f"{what}: {type(found).__module__}.{type(found).__name__} reaches the user"


@pytest.mark.parametrize("name", [*EQUAL, *SAME_ERRORS])
def test_matrices_that_are_no_numbers(name: str) -> None:
    call = EQUAL.get(name) or SAME_ERRORS[name]
    for kind, rows in MATRICES.items():
        got = _run(mstorch, call, rows)
        _refuse_foreign(got, kind)
        want = _run(real_torch, call, rows)
        if (name, kind) in OTHERWISE:
            continue
        if isinstance(want, Exception) or isinstance(got, Exception):
            assert type(want).__name__ == type(got).__name__, f"{kind}: torch {want!r}, mstorch {got!r}"
            if isinstance(got, mstorch.linalg.LinAlgError):
                assert str(want).split("\n")[0][:60] == str(got).split("\n")[0][:60], kind
        elif name in EQUAL:
            for w, g in zip(_flat(want), _flat(got), strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-5, err_msg=kind)


@pytest.mark.parametrize("name", ALONE)
def test_no_foreign_exception(name: str) -> None:
    for kind, rows in MATRICES.items():
        _refuse_foreign(_run(mstorch, ALONE[name], rows), kind)


def test_the_error_is_torchs() -> None:
    with pytest.raises(mstorch.linalg.LinAlgError, match="failed to converge"):
        mstorch.linalg.svdvals(mstorch.full((2, 2), NAN))
