"""torch.signal.windows: window functions."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..._src.hook import missing as _missing
from ..._src.ops.signal.window_functions import (
    bartlett,
    blackman,
    cosine,
    exponential,
    gaussian,
    general_cosine,
    general_hamming,
    hamming,
    hann,
    kaiser,
    nuttall,
)  # fmt: skip

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("windows",))
