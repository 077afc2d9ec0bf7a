"""flash_attn.ops.rms_norm: RMS norm, a single kernel where the device has one."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Return the last dimension divided by its root mean square, times a weight."""
    return torch.nn.functional.rms_norm(x, weight.shape, weight, epsilon)


class RMSNorm(torch.nn.RMSNorm):
    """RMS norm over the last dimension."""

    def __init__(self, hidden_size: int, eps: float = 1e-5, dropout_p: float = 0.0, device: object = None, dtype: object = None) -> None:
        if dropout_p:
            raise NotImplementedError("mstorch: flash_attn's RMSNorm with dropout; write nn.Dropout before it")
        super().__init__(hidden_size, eps, device=device, dtype=dtype)  # type: ignore[arg-type]


__all__ = ["RMSNorm", "rms_norm"]
