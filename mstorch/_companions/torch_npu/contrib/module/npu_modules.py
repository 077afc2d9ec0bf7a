"""torch_npu.contrib.module.npu_modules: dropout with a mask of bytes."""
from __future__ import annotations

from typing import Any

from mstorch import nn

from ..function import dropout_with_byte_mask


class DropoutWithByteMask(nn.Dropout):
    """Dropout, under torch_npu's name."""

    def forward(self, input1: Any) -> Any:
        """Apply dropout."""
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)


__all__ = ["DropoutWithByteMask"]
