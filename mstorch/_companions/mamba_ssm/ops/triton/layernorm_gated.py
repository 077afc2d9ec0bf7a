"""mamba_ssm.ops.triton.layernorm_gated: normalization of groups of channels with a gate, before or after it."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..selective_scan_interface import wide

Tensor = torch.Tensor
_F = torch.nn.functional


def layernorm_fn(
    x: Tensor, weight: Tensor, bias: Tensor | None, z: Tensor | None = None, eps: float = 1e-6, group_size: int | None = None,
    norm_before_gate: bool = True, is_rms_norm: bool = False,
) -> Tensor:  # fmt: skip
    """Return norm(x) * silu(z) or norm(x * silu(z)); each group of ``group_size`` channels is normalized by itself."""
    size = x.shape[-1] if group_size is None else group_size
    if size < 1 or x.shape[-1] % size:
        raise AssertionError(f"group_size {size} must divide the {x.shape[-1]} channels")
    values = wide(x)
    if z is not None and not norm_before_gate:
        values = values * _F.silu(wide(z))
    parted = values.unflatten(-1, (-1, size))
    normal = (_F.rms_norm if is_rms_norm else _F.layer_norm)(parted, (size,), eps=eps).flatten(-2) * wide(weight)
    if bias is not None:
        normal = normal + wide(bias)
    if z is not None and norm_before_gate:
        normal = normal * _F.silu(wide(z))
    return normal.to(x.dtype)


def rmsnorm_fn(
    x: Tensor, weight: Tensor, bias: Tensor | None, z: Tensor | None = None, eps: float = 1e-6, group_size: int | None = None,
    norm_before_gate: bool = True,
) -> Tensor:  # fmt: skip
    """Return layernorm_fn's result for the normalization by the root of the mean of squares."""
    return layernorm_fn(x, weight, bias, z, eps, group_size, norm_before_gate, True)


class _Gated(torch.nn.Module):
    _by_squares = False

    def __init__(
        self, hidden_size: int, eps: float = 1e-5, group_size: int | None = None, norm_before_gate: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.eps, self.group_size, self.norm_before_gate = eps, group_size, norm_before_gate
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        bias = None if self._by_squares else torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        torch.nn.init.ones_(self.weight)
        if isinstance(self.bias, Tensor):
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, z: Tensor | None = None) -> Tensor:
        """Return the normalization with the gate."""
        bias = self.bias if isinstance(self.bias, Tensor) else None
        return layernorm_fn(x, self.weight, bias, z, self.eps, self.group_size, self.norm_before_gate, self._by_squares)


class LayerNorm(_Gated):
    """Layer normalization of groups of channels, with a gate."""


class RMSNorm(_Gated):
    """Normalization of groups of channels by the root of the mean of squares, with a gate."""

    _by_squares = True


__all__ = ["LayerNorm", "RMSNorm", "layernorm_fn", "rmsnorm_fn"]
