"""Jobs of torch_complex."""

from __future__ import annotations

import torch
from torch_complex import functional
from torch_complex.tensor import ComplexTensor


def job_tensors():
    torch.manual_seed(0)
    a = ComplexTensor(torch.randn(2, 3, 3), torch.randn(2, 3, 3))
    b = ComplexTensor(torch.randn(2, 3, 3), torch.randn(2, 3, 3))
    return [
        [x.real, x.imag]
        for x in (
            a @ b,
            a * b.conj(),
            a / b,
            a.inverse(),
            functional.einsum("bij,bjk->bik", [a, b]),
            functional.solve(a, b),
            functional.stack([a, b]),
        )
    ] + [a.abs(), a.angle(), functional.trace(a).real, a.sum().real]
