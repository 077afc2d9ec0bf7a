"""torch_npu.contrib.module.crossentropy: cross entropy with smoothed labels."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn

F = nn.functional


class LabelSmoothingCrossEntropy(nn.Module):
    """Cross entropy with label smoothing: the target has 1 - ``smooth_factor``, the other classes share the rest; the mean is float32."""

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value, self.off_value = 1.0 - smooth_factor, smooth_factor / (num_classes - 1)

    def forward(self, pred: Any, target: Any) -> Any:
        """Return the mean loss of (N, C) logits and (N,) targets."""
        logs = F.log_softmax(pred, -1)
        wanted = self.off_value * logs.sum(-1) + (self.on_value - self.off_value) * logs.gather(1, target.long().unsqueeze(1)).squeeze(1)
        return torch.mean(-wanted, [0], dtype=torch.float32)


__all__ = ["LabelSmoothingCrossEntropy"]
