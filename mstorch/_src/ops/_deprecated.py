"""Functions that torch deprecates, each with a warning once per process."""
from __future__ import annotations

from ..core.warned import warn, warn_once

TEXTS = {
    "storage": (
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
        "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        "tensor.untyped_storage() instead of tensor.storage()"
    ),
    "T": (
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
        "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, "
        "-1, -1))` to reverse the dimensions of a tensor."
    ),
    "chain_matmul": (
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    ),
    "where": (
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
        "PyTorch. Use a boolean condition instead."
    ),
    "lu": (
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
        "future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
        "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
        "should be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    ),
    "meshgrid": (
        "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
    ),
    "cross": (
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
        "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
        "release."
    ),
    "lu_solve": (
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced "
        "with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    ),
    "cholesky": (
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\nL "
        "= torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
        "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all "
        "valid (symmetric positive definite) inputs."
    ),
    "triangular_solve": (
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    ),
    "quantized": (
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce tensors with "
        "dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future PyTorch release. Please see "
        "https://github.com/pytorch/pytorch/issues/184982 for more information."
    ),
    "qr": (
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
        "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
        "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    ),
}


_always = [False]


def _get_always_warn_typed_storage_removal() -> bool:
    """Return whether every use of a TypedStorage warns, and not only the first."""
    return _always[0]


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Set whether every use of a TypedStorage warns, and not only the first."""
    _always[0] = always_warn


def warn_of(name: str) -> None:
    """Warn on first use. For storages torch warns by Python's own warning, which ``set_warn_always`` does not affect."""
    if name == "storage" and _always[0]:
        return warn(TEXTS[name], UserWarning)
    return warn_once(TEXTS[name], strictly=name == "storage")
