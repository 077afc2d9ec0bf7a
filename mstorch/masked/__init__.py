"""torch.masked: reductions and normalizations that ignore elements whose mask is False.

Differs from torch: there is no MaskedTensor, and masks are dense.
"""
from __future__ import annotations

from ._filled import _input_mask, _output_mask  # noqa: F401 - torch has them here
from .normalizations import log_softmax, logaddexp, normalize, softmax, softmin
from .reductions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)  # fmt: skip

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
