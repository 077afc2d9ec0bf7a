"""Normalizations, activations and rotary embeddings that torch_npu has as fused kernels."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

_functional = torch.nn.functional


def _widened(*tensors: Any) -> list[Any]:
    return [item.float() if item.dtype in (torch.float16, torch.bfloat16) else item for item in tensors]


def npu_rms_norm(self: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """Return ``self / rms(self) * gamma`` over the dimensions of ``gamma``, and the reciprocal of the RMS, in float32."""
    count = gamma.dim()
    if count == 0 or self.shape[-count:] != gamma.shape:
        raise RuntimeError(f"gamma of {list(gamma.shape)} is not of the last dimensions of {list(self.shape)}")
    wide, weight = _widened(self, gamma)
    scale = (wide.square().mean(tuple(range(-count, 0)), keepdim=True) + epsilon).rsqrt()
    return (wide * scale * weight).to(self.dtype), scale.detach()


def npu_add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any, Any]:
    """Return ``npu_rms_norm(x1 + x2, gamma, epsilon)`` and ``x1 + x2``."""
    total = x1 + x2
    return (*npu_rms_norm(total, gamma, epsilon), total)


def npu_layer_norm_eval(input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Return ``torch.nn.functional.layer_norm`` of the arguments."""
    return _functional.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_swiglu(self: Any, dim: int = -1) -> Any:
    """Return ``silu(a) * b`` for the two halves of a dimension."""
    if self.shape[dim] % 2:
        raise RuntimeError(f"dimension {dim} of {list(self.shape)} has no halves")
    gate, linear = _widened(*self.chunk(2, dim))
    return (_functional.silu(gate) * linear).to(self.dtype)


def npu_geglu(self: Any, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Any, Any]:
    """Return ``a * gelu(b)`` for the two halves of a dimension (``gelu(a) * b`` with ``activate_left``), and the result of gelu.

    approximate: 0 is exact gelu, 1 its tanh approximation.
    """
    if self.shape[dim] % 2:
        raise RuntimeError(f"dimension {dim} of {list(self.shape)} has no halves")
    if approximate not in (0, 1):
        raise RuntimeError(f"approximate must be 0 or 1, got {approximate}")
    linear, gate = _widened(*self.chunk(2, dim))
    if activate_left:
        linear, gate = gate, linear
    opened = _functional.gelu(gate, approximate="tanh" if approximate else "none")
    return (linear * opened).to(self.dtype), opened.to(self.dtype)


def npu_gelu(self: Any, approximate: str = "none") -> Any:
    """Return ``torch.nn.functional.gelu``."""
    return _functional.gelu(self, approximate=approximate)


def npu_fast_gelu(self: Any) -> Any:
    """Return ``x * sigmoid(1.702 x)``."""
    (wide,) = _widened(self)
    return (wide * torch.sigmoid(1.702 * wide)).to(self.dtype)


fast_gelu = npu_fast_gelu


def npu_silu(self: Any) -> Any:
    """Return ``torch.nn.functional.silu``."""
    return _functional.silu(self)


def npu_mish(self: Any) -> Any:
    """Return ``torch.nn.functional.mish``."""
    return _functional.mish(self)


def npu_rotary_mul(self: Any, r1: Any, r2: Any, rotary_mode: str = "half") -> Any:
    """Return ``r1 * x + r2 * rotated(x)``, rotated by halves, or by neighbours ("interleave")."""
    if self.shape[-1] % 2:
        raise RuntimeError(f"the last dimension of {list(self.shape)} has no halves")
    if rotary_mode == "half":
        first, second = self.chunk(2, -1)
        rotated = torch.cat((-second, first), -1)
    elif rotary_mode == "interleave":
        rotated = torch.stack((-self[..., 1::2], self[..., ::2]), -1).flatten(-2)
    else:
        raise RuntimeError(f"rotary_mode must be half or interleave, got {rotary_mode}")
    return (r1 * self + r2 * rotated).to(self.dtype)


def npu_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Return ``torch.nn.functional.linear``."""
    return _functional.linear(input, weight, bias)
