"""Jobs of torchsparsegradutils."""

from __future__ import annotations

import torch
import torchsparsegradutils as utils


def job_solves():
    torch.manual_seed(0)
    dense = torch.randn(6, 6, dtype=torch.float64)
    dense = dense @ dense.T + 6 * torch.eye(6, dtype=torch.float64)
    dense = torch.where(dense.abs() > 1, dense, 0)
    right = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    answers = []
    for layout in (torch.sparse_coo, torch.sparse_csr):
        a = dense.to_sparse(layout=layout).requires_grad_()
        product = utils.sparse_mm(a, right)
        product.square().sum().backward()
        answers += [product, a.grad.to_dense()]
        lower = dense.tril().to_sparse(layout=layout).requires_grad_()
        solved = utils.sparse_triangular_solve(lower, right, upper=False)
        solved.sum().backward()
        answers += [solved, lower.grad.to_dense(), utils.sparse_generic_solve(a, right.detach())]
    return [*answers, right.grad]
