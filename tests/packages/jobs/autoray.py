"""Jobs of autoray."""
from __future__ import annotations

import autoray
import torch


def job_functions():
    torch.manual_seed(0)
    x = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    do = autoray.do
    found = [do("tensordot", x, x, 1), do("transpose", x, (1, 0)), do("linalg.svd", x)[1], do("linalg.qr", x)[1].abs(), do("exp", x), do("sum", x, axis=0),
             do("reshape", x, (2, 8)), do("stack", (x, x)), do("where", x > 0, x, -x), do("einsum", "ab,cb->ac", x, x), do("max", x), do("linalg.norm", x),
             do("concatenate", (x, x)), do("ones", (2, 2), like=x), do("clip", x, -0.5, 0.5), do("diag", x), do("take", x, torch.tensor([0, 2]), axis=1)]  # fmt: skip
    sum(one.sum() for one in found).backward()
    lazy = autoray.lazy.array(x.detach())
    return found, x.grad, autoray.infer_backend(x), autoray.get_dtype_name(x), do("sum", do("exp", lazy)).compute(), autoray.to_numpy(x.detach())
