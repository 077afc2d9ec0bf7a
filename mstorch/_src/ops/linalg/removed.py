"""Functions that torch has removed: each raises an error that names its replacement."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...core.tensor_base import TensorBase

_GONE = "This function was deprecated since version 1.9 and is now removed. "


def eig(self: TensorBase, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.eig``."""
    raise RuntimeError(
        _GONE + "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
        "complex tensors.\n\nL, _ = torch.eig(A) should be replaced with:\nL_complex = torch.linalg.eigvals(A)\n\nand\n\n"
        "L, V = torch.eig(A, eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)"
    )


def solve(input: TensorBase, A: TensorBase, *, out: TensorBase | None = None) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.solve``."""
    raise RuntimeError(
        _GONE + "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed "
        "and does not return the LU factorization.\n\nTo get the LU factorization see `torch.lu`, which can be used with "
        "`torch.lu_solve` or `torch.lu_unpack`.\nX = torch.solve(B, A).solution should be replaced with:\n"
        "X = torch.linalg.solve(A, B)"
    )


def symeig(input: TensorBase, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.eigh``."""
    raise RuntimeError(
        _GONE + "The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
        "lower triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\n"
        "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n\nand\n\n"
        "L, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
        "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
    )


def lstsq(input: TensorBase, A: TensorBase, *, out: TensorBase | Sequence[TensorBase] | None = None) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.lstsq``."""
    raise RuntimeError(
        _GONE + "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has reversed arguments and "
        "does not return the QR decomposition in the returned tuple (although it returns other information about the problem)."
        "\n\nTo get the QR decomposition consider using `torch.linalg.qr`.\n\nThe returned solution in `torch.lstsq` stored the "
        "residuals of the solution in the last m - n columns of the returned value whenever m > n. In torch.linalg.lstsq, the "
        "residuals are in the field 'residuals' of the returned named tuple.\n\nThe unpacking of the solution, as in\n"
        "X, _ = torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced with:\nX = torch.linalg.lstsq(A, B).solution"
    )


def matrix_rank(
    input: TensorBase, tol: TensorBase | float | None = None, symmetric: bool = False, *, out: TensorBase | None = None
) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.matrix_rank``."""
    raise RuntimeError(
        _GONE.rstrip() + "\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
        "`torch.linalg.matrix_rank()` to 'hermitian'."
    )
