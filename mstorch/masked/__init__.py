"""torch.masked: reductions and normalizations that ignore elements whose mask is False.

Differs from torch: MaskedTensor does not exist, so that ``masked_tensor`` raises, and masks are dense.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._src.hook import missing as _missing
from ._filled import _input_mask, _output_mask, _where  # noqa: F401 - torch has them here
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

# The names that a star import of torch.masked binds, except MaskedTensor, which is missing.
__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip



def is_masked_tensor(obj: object, /) -> bool:
    """Return False: no object is a MaskedTensor, a class that is missing here."""
    return False


if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("_src.ops",))
