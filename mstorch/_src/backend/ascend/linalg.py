"""Linear algebra and Fourier transforms on Ascend, with kernels for triangular systems and QR."""
from __future__ import annotations

from ..raw import Raw
from ..table import FLOATS
from ._primitives import absent, by_host, enter, run


def _qr(x: Raw, mode: str) -> tuple[Raw, Raw]:
    return run("LinalgQr", x, mode) if len(x.shape) <= 6 else by_host("linalg_qr", x, mode)  # MindSpore refuses more dimensions


def _solve_triangular(matrix: Raw, right: Raw, upper: bool, unit: bool) -> Raw:
    if not matrix.size or not right.size:
        return run("Clone", right)
    found: Raw = run("TriangularSolve", right, matrix, upper, False, unit)[0]
    return found


enter("cross", lambda x, y, dim: run("Cross", x, y, at=(dim,)), FLOATS)
enter("linalg_qr", _qr, FLOATS)
enter("linalg_solve_triangular", _solve_triangular, ("float32", "float64", "complex64", "complex128"))
absent(
    "the device has no kernel of this factorisation", "linalg_lu_factor", "linalg_solve", "linalg_cholesky", "linalg_svd",
    "linalg_svdvals", "linalg_eigh", "linalg_eig", "linalg_geqrf", "linalg_ldl_factor",
    "linalg_ldl_solve",
)  # fmt: skip
absent("the device's transforms take real parts apart and were not held against torch", "fft")
absent("the device has no kernel of this loss", "ctc_loss")
