"""mamba_ssm.modules.block: a layer after a normalization, with the residual sum before it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from ..ops.triton.layer_norm import RMSNorm, layer_norm_fn

Tensor = torch.Tensor
_nn = torch.nn


class Block(_nn.Module):
    """Sum, normalization, mixer, and if there is a second layer (``mlp_cls``) the same with it. Returns the outputs and the residual."""

    def __init__(
        self, dim: int, mixer_cls: Callable[..., Any], mlp_cls: Callable[..., Any] = _nn.Identity,
        norm_cls: Callable[..., Any] = _nn.LayerNorm, fused_add_norm: bool = False, residual_in_fp32: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.residual_in_fp32, self.fused_add_norm = residual_in_fp32, fused_add_norm
        self.norm = norm_cls(dim)
        self.mixer = mixer_cls(dim)
        if mlp_cls is _nn.Identity:
            self.mlp = None
        else:
            self.norm2 = norm_cls(dim)
            self.mlp = mlp_cls(dim)
        if fused_add_norm and not isinstance(self.norm, (_nn.LayerNorm, RMSNorm)):
            raise AssertionError("Only LayerNorm and RMSNorm are supported for fused_add_norm")

    def _added(self, norm: Any, values: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        if self.fused_add_norm:
            normalized, total = layer_norm_fn(
                values, norm.weight, norm.bias, residual, eps=norm.eps, prenorm=True, residual_in_fp32=self.residual_in_fp32,
                is_rms_norm=isinstance(norm, RMSNorm),
            )  # fmt: skip
            return normalized, total
        total = values if residual is None else values + residual
        normalized = norm(total.to(norm.weight.dtype))
        return normalized, total.float() if self.residual_in_fp32 else total

    def forward(
        self, hidden_states: Tensor, residual: Tensor | None = None, inference_params: Any = None, **mixer_kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs, to which the residual is not yet added, and the residual."""
        values, residual = self._added(self.norm, hidden_states, residual)
        values = self.mixer(values, inference_params=inference_params, **mixer_kwargs)
        if self.mlp is not None:
            values, residual = self._added(self.norm2, values, residual)
            values = self.mlp(values)
        return values, residual

    def allocate_inference_cache(self, batch_size: int, max_seqlen: int, dtype: Any = None, **kwargs: Any) -> Any:
        """Return the mixer's states."""
        return self.mixer.allocate_inference_cache(batch_size, max_seqlen, dtype=dtype, **kwargs)


__all__ = ["Block"]
