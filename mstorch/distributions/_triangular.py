"""Operations on batches of triangular matrices, shared by distributions."""
from __future__ import annotations

import mstorch as torch

from .._tensor import Tensor


def log_diagonal(matrix: Tensor) -> Tensor:
    """Return half the log-determinant of ``L Lᵀ``: the sum of the logs of the diagonal."""
    return matrix.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Return matrix-vector products with broadcast batch dimensions."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """Return ``xᵀ (L Lᵀ)⁻¹ x`` for vectors ``bx`` (… × n) and lower triangular matrices ``bL`` (… × n × n), whose batch dimensions
    broadcast to those of the vectors.

    Vectors with the same matrix are solved together, so that no matrix is repeated in memory."""
    n, batch = bx.size(-1), bx.shape[:-1]
    outer = len(batch) - (bL.dim() - 2)
    # Each batch dimension i of the vectors is a_i = repeats × b_i of the triangles.
    pairs = [(size // own, own) for own, size in zip(bL.shape[:-2], batch[outer:])]
    end = outer + 2 * len(pairs)
    bx = bx.reshape(batch[:outer] + tuple(size for pair in pairs for size in pair) + (n,))
    order = [*range(outer), *range(outer, end, 2), *range(outer + 1, end, 2)]
    bx = bx.permute([*order, end])
    flat_L = bL.reshape(-1, n, n)
    columns = bx.reshape(-1, flat_L.size(0), n).permute(1, 2, 0)
    squares = torch.linalg.solve_triangular(flat_L, columns, upper=False).pow(2).sum(-2)
    back = sorted(range(end), key=order.__getitem__)
    return squares.t().reshape(bx.shape[:-1]).permute(back).reshape(batch)


def batch_trace_of_square(bmat: Tensor) -> Tensor:
    """Return the trace of ``X Xᵀ``: the sum of squares of each matrix."""
    return bmat.reshape(-1, bmat.size(-1) * bmat.size(-2)).pow(2).sum(-1).reshape(bmat.shape[:-2])


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse, from one factorization of the flipped matrix."""
    factor = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.transpose(torch.flip(factor, (-2, -1)), -2, -1)
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)
