"""torch.ao.nn.qat.dynamic.modules.linear: a linear layer with fake-quantized weight, for dynamic quantization."""
from __future__ import annotations

from typing import Any

from ......_src.core.device import device
from ......ao.quantization.qconfig import _activation_is_memoryless
from ...modules.linear import Linear as _Linear

__all__ = ["Linear"]


class Linear(_Linear):
    """A linear layer with fake-quantized weight; its activations are observed without memory of earlier ones."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: int | str | device | None = None,
        dtype: str | None = None
    ) -> None:
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        if not _activation_is_memoryless(qconfig):
            raise ValueError(
                "Dynamic QAT requires a memoryless observer.This means a MovingAverage observer with averaging constant equal to 1"
            )
