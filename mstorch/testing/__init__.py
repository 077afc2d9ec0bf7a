"""torch.testing: comparisons with detailed messages, and random tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._src.hook import missing as _missing
from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor


class FileCheck:
    """torch's checker of the text of compiled graphs, which mstorch does not have."""

    def __init__(self) -> None:
        raise NotImplementedError("mstorch: torch.testing.FileCheck reads the text of TorchScript graphs, which mstorch has not")


__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("_internal",))
