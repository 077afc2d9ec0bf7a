"""Jobs of opt_einsum."""
from __future__ import annotations

import opt_einsum
import torch


def job_contractions():
    torch.manual_seed(0)
    parts = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 4), (4, 5), (5, 2, 3), (2,))]
    found = [opt_einsum.contract("ab,bc,cda,d->", *parts), opt_einsum.contract("ab,bc,cda->d", *parts[:3], optimize="greedy"),
             opt_einsum.contract(parts[0], [0, 1], parts[1], [1, 2], [0, 2])]  # fmt: skip
    told = opt_einsum.contract_expression("ab,bc,cda->d", *(tuple(p.shape) for p in parts[:3]))
    found += [told(*parts[:3]), told(*parts[:3], backend="torch")]
    with opt_einsum.shared_intermediates():
        found.append(opt_einsum.contract("ab,bc->ac", *parts[:2]))
    sum(one.sum() for one in found).backward()
    return found, [p.grad for p in parts]
