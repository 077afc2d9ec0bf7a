"""torch.linalg: matrices, factorizations, solvers, norms."""

from ._src.hook import missing as _missing
from ._src.namespace.roots import matrix_sqrth, polar
from ._src.ops.linalg.linalg import (
    cond,
    householder_product,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lstsq,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    matrix_norm,
    matrix_rank,
    norm,
    pinv,
)  # fmt: skip
from ._src.ops.linalg.linalg_det import det, slogdet
from ._src.ops.linalg.linalg_exp import matrix_exp
from ._src.ops.linalg.linalg_factor import (
    LinAlgError,
    cholesky,
    cholesky_ex,
    inv,
    inv_ex,
    qr,
    solve,
    solve_ex,
    solve_triangular,
)  # fmt: skip
from ._src.ops.linalg.linalg_products import (
    cross,
    diagonal,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from ._src.ops.linalg.linalg_spectral import eig, eigh, eigvals, eigvalsh, svd, svdvals
from ._src.ops.linalg.matmul import matmul
from ._src.ops.reduce.vector_norm import vector_norm

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_sqrth", "multi_dot",
    "norm", "pinv", "polar", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip

__getattr__ = _missing(__name__)
