"""Reductions, sorts and scans along a dimension of tensors without elements that require grad, compared with torch."""
from __future__ import annotations

import pytest

NAMES = (
    "sort mode median nanmedian kthvalue topk max min amax amin cummax cummin msort argsort sum cumsum cumprod logcumsumexp softmax log_softmax std var "
    "mean prod norm logsumexp flip roll argmax quantile diff renorm aminmax nansum unbind chunk cumulative_trapezoid count_nonzero"
).split()  # fmt: skip
ARGUMENTS = {"kthvalue": lambda dim: (1, dim), "topk": lambda dim: (0, dim), "norm": lambda dim: (2, dim), "roll": lambda dim: (1, dim),
             "flip": lambda dim: ((dim,),), "msort": lambda dim: (), "quantile": lambda dim: (0.5, dim), "diff": lambda dim: (1, dim),
             "renorm": lambda dim: (2, dim, 1.0), "chunk": lambda dim: (2, dim)}  # fmt: skip


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize(("shape", "dim"), [((3, 0), 0), ((3, 0), 1), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), 0), ((2, 0, 3), 1), ((2, 0, 3), 2)])
@pytest.mark.parametrize("name", NAMES)
def test_along_a_dimension(both, name, shape, dim, tracked):
    def body(torch):
        x = torch.zeros(shape, requires_grad=tracked)
        function = getattr(torch, name)
        result = function(x, dim=dim) if name in ("aminmax", "cumulative_trapezoid") else function(x, *ARGUMENTS.get(name, lambda dim: (dim,))(dim))
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
        if parts and parts[0].requires_grad:
            parts[0].sum().backward()
            parts.append(x.grad)
        return parts

    both(body, strides=False)
