"""apex.transformer.functional.fused_softmax: softmax of scaled scores with a mask, computed in float32."""

from __future__ import annotations

from collections.abc import Callable

import mstorch as torch

from ..enums import AttnMaskType

Tensor = torch.Tensor
_HIDDEN = -10000.0


def _softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores.double() if scores.dtype is torch.float64 else scores.float(), -1)


def scaled_masked_softmax(inputs: Tensor, mask: Tensor | None, scale: float = 1.0) -> Tensor:
    """Return softmax of inputs times a scale without those where the mask is true; a row without others is zero."""
    scores = (inputs if inputs.dtype is torch.float64 else inputs.float()) * (1.0 if scale is None else scale)
    if mask is None:
        return _softmax(scores).to(inputs.dtype)
    hidden = mask.bool()
    weights = _softmax(scores.masked_fill(hidden, _HIDDEN))
    return weights.masked_fill(hidden.all(-1, keepdim=True), 0.0).to(inputs.dtype)


def generic_scaled_masked_softmax(inputs: Tensor, mask: Tensor | None, scale: float = 1.0) -> Tensor:
    """Return ``scaled_masked_softmax``, for sizes of any kind."""
    return scaled_masked_softmax(inputs, mask, scale)


def scaled_upper_triang_masked_softmax(inputs: Tensor, _: object = None, scale: float = 1.0) -> Tensor:
    """Return softmax of (batch, queries, keys) times a scale, in which a query sees no later keys."""
    later = torch.ones(inputs.shape[-2:], dtype=torch.bool, device=inputs.device).triu(1)
    scores = (inputs if inputs.dtype is torch.float64 else inputs.float()) * (1.0 if scale is None else scale)
    return _softmax(scores.masked_fill(later, -float("inf"))).to(inputs.dtype)


class FusedScaleMaskSoftmax(torch.nn.Module):
    """Softmax of scaled scores with a mask of a kind.

    Where fusion is off, ``mask_func`` applies the mask, and the softmax is computed in float32 only with ``softmax_in_fp32``.
    """

    def __init__(
        self, input_in_fp16: bool, input_in_bf16: bool, attn_mask_type: AttnMaskType, scaled_masked_softmax_fusion: bool,
        mask_func: Callable[[Tensor, Tensor], Tensor], softmax_in_fp32: bool, scale: float | None,
    ) -> None:  # fmt: skip
        super().__init__()
        if input_in_fp16 and input_in_bf16:
            raise RuntimeError("both fp16 and bf16 flags cannot be active at the same time.")
        if not (scale is None or softmax_in_fp32):
            raise RuntimeError("softmax should be in fp32 when scaled")
        if attn_mask_type not in (AttnMaskType.padding, AttnMaskType.causal):
            raise ValueError("Invalid attn_mask_type.")
        self.input_in_float16 = input_in_fp16 or input_in_bf16
        self.attn_mask_type = attn_mask_type
        self.scaled_masked_softmax_fusion = scaled_masked_softmax_fusion
        self.mask_func = mask_func
        self.softmax_in_fp32 = softmax_in_fp32
        self.scale = scale

    def forward(self, input: Tensor, mask: Tensor | None) -> Tensor:
        """Apply the softmax to (batch, heads, queries, keys)."""
        if self.scaled_masked_softmax_fusion and self.input_in_float16:
            if self.attn_mask_type is AttnMaskType.causal:
                return scaled_upper_triang_masked_softmax(input, None, self.scale or 1.0)
            return scaled_masked_softmax(input, mask, self.scale or 1.0)
        scores = input.float() if self.input_in_float16 and self.softmax_in_fp32 else input
        if self.scale is not None:
            scores = scores * self.scale
        weights = torch.softmax(scores if mask is None else self.mask_func(scores, mask), -1)
        return weights.to(input.dtype)


__all__ = [
    "FusedScaleMaskSoftmax",
    "generic_scaled_masked_softmax",
    "scaled_masked_softmax",
    "scaled_upper_triang_masked_softmax",
]
