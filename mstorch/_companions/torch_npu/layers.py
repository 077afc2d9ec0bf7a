"""Normalizations, activations and rotary embeddings that torch_npu has as fused kernels."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

_functional = torch.nn.functional


def _widened(*tensors: Any) -> list[Any]:
    return [item.float() if item.dtype in (torch.float16, torch.bfloat16) else item for item in tensors]


def npu_rms_norm(self: Any, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """Return ``self / rms(self) * gamma`` over the dimensions of ``gamma``, and the reciprocal of the RMS, in float32."""
    count = gamma.dim()
    if count == 0 or self.shape[-count:] != gamma.shape:
        raise RuntimeError(f"gamma of {list(gamma.shape)} is not of the last dimensions of {list(self.shape)}")
    wide, weight = _widened(self, gamma)
    scale = (wide.square().mean(tuple(range(-count, 0)), keepdim=True) + epsilon).rsqrt()
    return (wide * scale * weight).to(self.dtype), scale.detach()


def npu_add_rms_norm(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[Any, Any, Any]:
    """Return ``npu_rms_norm(x1 + x2, gamma, epsilon)`` and ``x1 + x2``."""
    total = x1 + x2
    return (*npu_rms_norm(total, gamma, epsilon), total)


def npu_layer_norm_eval(
    input: torch.Tensor, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> torch.Tensor:  # fmt: skip
    """Return ``torch.nn.functional.layer_norm`` of the arguments."""
    return _functional.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_swiglu(self: Any, dim: int = -1) -> torch.Tensor:
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


def npu_gelu(self: Any, approximate: str = "none") -> torch.Tensor:
    """Return ``torch.nn.functional.gelu``."""
    return _functional.gelu(self, approximate=approximate)


def npu_fast_gelu(self: Any) -> torch.Tensor:
    """Return ``x * sigmoid(1.702 x)``."""
    (wide,) = _widened(self)
    return (wide * torch.sigmoid(1.702 * wide)).to(self.dtype)


fast_gelu = npu_fast_gelu


def npu_silu(self: Any) -> torch.Tensor:
    """Return ``torch.nn.functional.silu``."""
    return _functional.silu(self)


def npu_mish(self: Any) -> torch.Tensor:
    """Return ``torch.nn.functional.mish``."""
    return _functional.mish(self)


def npu_rotary_mul(self: Any, r1: Any, r2: Any, rotary_mode: str = "half", rotate: Any = None) -> torch.Tensor:
    """Return ``r1 * x + r2 * rotated(x)``, rotated by halves, by neighbours ("interleave"), or by a matrix."""
    if rotate is not None:
        return (r1 * self + r2 * (self @ rotate.to(self.dtype))).to(self.dtype)
    if self.shape[-1] % 2:
        raise RuntimeError(f"the last dimension of {list(self.shape)} has no halves")
    if rotary_mode == "half":
        first, second = self.chunk(2, -1)
        rotated = torch.cat((-second, first), -1)
    elif rotary_mode == "interleave":
        rotated = torch.stack((-self[..., 1::2], self[..., ::2]), -1).flatten(-2)
    else:
        raise RuntimeError(f"The rotary_mode of npu_rotary_mul should be half or interleave, but got {rotary_mode}")
    return (r1 * self + r2 * rotated).to(self.dtype)


def npu_clipped_swiglu(
    x: torch.Tensor, *, group_index: Any = None, dim: int = -1, alpha: float = 1.702, limit: float = 7.0, bias: float = 1.0,
    interleaved: bool = True
) -> torch.Tensor:  # fmt: skip
    """Return ``gate * sigmoid(alpha * gate) * (linear + bias)`` of clipped halves,
    or of neighbours; rows beyond the groups' sum are zero."""
    wide = x.float().movedim(dim, -1)
    gate, linear = (wide[..., ::2], wide[..., 1::2]) if interleaved else wide.chunk(2, -1)
    gate, linear = gate.clamp(max=limit), linear.clamp(-limit, limit)
    found = (gate * torch.sigmoid(alpha * gate) * (linear + bias)).movedim(-1, dim)
    if group_index is not None:
        rows = torch.arange(found.flatten(0, -2).shape[0] if dim in (-1, x.dim() - 1) else found.shape[0], device=x.device)
        inside = (rows < group_index.sum()).reshape(*found.shape[:-1], 1) if dim in (-1,
            x.dim() - 1) else (rows < group_index.sum()).reshape(-1, *[1] * (x.dim() - 1))
        found = torch.where(inside, found, 0.0)
    return found.to(x.dtype)


def npu_gelu_mul(input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Return ``gelu(a) * b`` for the two halves of the last dimension."""
    first, second = _widened(*input.chunk(2, -1))
    return (_functional.gelu(first, approximate=approximate) * second).to(input.dtype)


def npu_gemma_rms_norm(input: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """Return ``npu_rms_norm(input, 1 + gamma)``."""
    return npu_rms_norm(input, 1.0 + gamma, epsilon)


def npu_add_rms_norm_cast(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[Any, Any, Any, Any]:
    """Return ``npu_add_rms_norm``'s result in float32 and in its own dtype, the reciprocal of the RMS, and the sum."""
    total = x1 + x2
    (wide, weight) = _widened(total, gamma)
    scale = (wide.square().mean(-1, keepdim=True) + epsilon).rsqrt()
    normal = wide * scale * weight
    return normal, normal.to(x1.dtype), scale.detach(), total


def npu_add_layer_norm(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, beta: Any, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the layer norm of ``x1 + x2``, the mean, the reciprocal of the deviation, and the sum."""
    total = x1 + x2
    wide, weight, bias = _widened(total, gamma, beta)
    mean = wide.mean(-1, keepdim=True)
    rstd = (wide.var(-1, keepdim=True, unbiased=False) + epsilon).rsqrt()
    found = ((wide - mean) * rstd * weight + bias).to(total.dtype)
    return found, mean.detach(), rstd.detach(), total if additional_output else torch.empty(0, dtype=total.dtype, device=x1.device)


def npu_deep_norm(
    x: torch.Tensor, gx: Any, beta: Any, gamma: torch.Tensor, alpha: float = 0.3, epsilon: float = 1e-6
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the mean, the reciprocal of the deviation, and the layer norm of ``alpha * x + gx``."""
    wide, other, weight, bias = _widened(x, gx, gamma, beta)
    total, dims = alpha * wide + other, tuple(range(-gamma.dim(), 0))
    mean = total.mean(dims, keepdim=True)
    rstd = (total.var(dims, keepdim=True, unbiased=False) + epsilon).rsqrt()
    return mean.detach(), rstd.detach(), ((total - mean) * rstd * weight + bias).to(x.dtype)


def npu_group_norm_silu(input: torch.Tensor, weight: Any, bias: Any, group: int, eps: float = 1e-5) -> tuple[Any, Any, Any]:
    """Return ``silu(group_norm(input))``, and the groups' means and reciprocals of deviations."""
    return npu_group_norm_swish(input, group, weight, bias, eps, 1.0)


def npu_group_norm_swish(
    input: torch.Tensor, num_groups: int, weight: Any, bias: Any, eps: float | None = 1e-5, swish_scale: float | None = 1.0
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return ``x * sigmoid(swish_scale * x)`` of the group norm, and the groups' means and reciprocals of deviations."""
    (wide,) = _widened(input)
    groups = wide.reshape(input.shape[0], num_groups, -1)
    mean, rstd = groups.mean(-1), (groups.var(-1, unbiased=False) + (1e-5 if eps is None else eps)).rsqrt()
    normal = ((groups - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)).reshape(input.shape)
    shape = (1, -1, *[1] * (input.dim() - 2))
    normal = normal if weight is None else normal * weight.reshape(shape).to(wide.dtype)
    normal = normal if bias is None else normal + bias.reshape(shape).to(wide.dtype)
    found = normal * torch.sigmoid((1.0 if swish_scale is None else swish_scale) * normal)
    return found.to(input.dtype), mean.detach().to(input.dtype), rstd.detach().to(input.dtype)


def npu_linear(input: torch.Tensor, weight: Any, bias: Any = None) -> torch.Tensor:
    """Return ``torch.nn.functional.linear``."""
    return _functional.linear(input, weight, bias)
