"""Jobs of linear_operator."""
from __future__ import annotations

import linear_operator
import torch
from linear_operator.operators import (
    DiagLinearOperator,
    KroneckerProductLinearOperator,
    RootLinearOperator,
    ToeplitzLinearOperator,
    to_dense,
)


def job_solves():
    torch.manual_seed(0)
    root = torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
    diagonal = torch.rand(5, dtype=torch.float64).add(0.5).requires_grad_()
    operator = RootLinearOperator(root) + DiagLinearOperator(diagonal)
    right = torch.randn(5, 2, dtype=torch.float64)
    solved, (quadratic, logdet) = operator.solve(right), operator.inv_quad_logdet(right, logdet=True)
    (solved.square().sum() + quadratic + logdet).backward()
    with linear_operator.settings.max_cholesky_size(1), linear_operator.settings.cg_tolerance(1e-10), torch.no_grad():
        by_steps = operator.solve(right)
    small = torch.eye(2, dtype=torch.float64) * 2
    others = KroneckerProductLinearOperator(DiagLinearOperator(torch.rand(2, dtype=torch.float64)), small), ToeplitzLinearOperator(diagonal.detach())
    return solved, by_steps, quadratic, logdet, root.grad, diagonal.grad, [to_dense(one) for one in others], [one.matmul(torch.ones(one.shape[-1], 1).double()) for one in others]
