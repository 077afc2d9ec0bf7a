"""Layers and their gradients under their ATen names; gradients are those of the public functions."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import nn
from .._src.core.dtype import dtype
from .._src.ops.layers import native as _native
from .._src.ops.memory import creation
from .._tensor import Tensor
from ..nn._functional.activation import slopes as _slopes
from .gradients import derived

F = nn.functional


def lift_fresh(self: Tensor) -> Tensor:
    """Return the tensor."""
    return self


def slice_backward(grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Tensor:
    """Return zeros of the given shape with the gradient written to a slice."""
    found = creation.zeros(tuple(input_sizes), dtype=grad_output.dtype, device=grad_output.device)
    found[(slice(None),) * (dim % len(input_sizes)) + (slice(start, end, step),)] = grad_output
    return found


def select_backward(grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Tensor:
    """Return zeros of the given shape with the gradient written to one index of a dimension."""
    found = creation.zeros(tuple(input_sizes), dtype=grad_output.dtype, device=grad_output.device)
    found.select(dim, index).copy_(grad_output)
    return found


def linalg_vector_norm(self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the vector norm along dimensions."""
    return _native.vector_norm(self, ord, dim, keepdim, dtype=dtype)


# Activations


def elu(self: Tensor, alpha: float = 1, scale: float = 1, input_scale: Any = 1) -> Tensor:
    """Return ``scale * x`` for x > 0, else ``scale * alpha * (exp(input_scale * x) - 1)``."""
    if input_scale != 1:
        return (self * scale).where(self > 0, (self * input_scale).expm1() * (alpha * scale))
    found = F.elu(self, alpha)
    return found if scale == 1 else found * scale


def elu_(self: Tensor, alpha: float = 1, scale: float = 1, input_scale: int = 1) -> Tensor:
    """In-place version of ``elu``."""
    return self.copy_(elu(self, alpha, scale, input_scale))


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    """Return the gradient where the value is above the threshold, else 0."""
    return grad_output.masked_fill(self <= threshold, 0)


def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """Return ``grad * (1 - output²)``."""
    return grad_output * (1 - output * output).conj()


def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """Return ``grad * output * (1 - output)``."""
    return grad_output * ((1 - output) * output).conj()


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def written(self: Tensor) -> Tensor:
        """Apply the activation in place; return the tensor."""
        return function(self, inplace=True)

    return written


silu_, mish_, hardswish_, hardsigmoid_ = (
    _in_place(function) for function in (F.silu, F.mish, F.hardswish, F.hardsigmoid)
)


def rrelu_with_noise(
    self: Tensor, noise: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """Return ``rrelu``, and write the drawn slopes into ``noise`` in training."""
    if not training:
        return F.rrelu(self, lower, upper)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise.copy_(_slopes(self, lower, upper, generator))
    return self * noise


def rrelu_with_noise_(
    self: Tensor, noise: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """In-place version of ``rrelu_with_noise``."""
    return self.copy_(rrelu_with_noise(self, noise, lower, upper, training, generator))


def rrelu_with_noise_backward(
    grad_output: Tensor, self: Tensor, noise: Tensor, lower: float, upper: float, training: bool, self_is_result: bool
) -> Tensor:
    """Return the gradient of ``rrelu_with_noise``."""
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return derived(lambda x: F.leaky_relu(x, (lower + upper) / 2), grad_output, self)[0]


def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    """Return ``x`` where it is positive, else ``weight * x``; the weight broadcasts to ``x``."""
    return self.where(self > 0, weight * self)


def _prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return both gradients of ``_prelu_kernel`` in the shape of ``self``."""
    positive = self > 0
    return grad_output.where(positive, weight * grad_output), (self * grad_output).masked_fill(positive, 0)


def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``log(sigmoid(x))``, and an empty buffer in place of the one that torch's kernel saves."""
    return F.logsigmoid(self), creation.empty(0, dtype=self.dtype, device=self.device)


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Return the softmax along a dimension."""
    return F.softmax(self, dim)


def _safe_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """Return the softmax along a dimension; zeros where all elements are -inf."""
    found = F.softmax(self, dim, dtype=dtype)
    return found.masked_fill(self.eq(-math.inf).all(dim, keepdim=True), 0)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Return the log-softmax along a dimension."""
    return F.log_softmax(self, dim)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype) -> Tensor:
    """Return the gradient of the softmax from its output."""
    grad, output = (grad_output.float(), output.float()) if grad_output.dtype.itemsize == 2 else (grad_output, output)
    return (output * (grad - (grad * output).sum(dim, keepdim=True))).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype) -> Tensor:
    """Return the gradient of the log-softmax from its output."""
    grad, output = (grad_output.float(), output.float()) if grad_output.dtype.itemsize == 2 else (grad_output, output)
    return (grad - output.exp() * grad.sum(dim, keepdim=True)).to(input_dtype)


# Layers


def _convolve(transposed: bool, count: int) -> Callable[..., Any]:
    return getattr(F, f"conv_transpose{count}d" if transposed else f"conv{count}d")


def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int, output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the gradients of a convolution for input, weight and bias, as selected by ``output_mask``."""
    function = _convolve(transposed, input.dim() - 2)
    extra = (output_padding, groups, dilation) if transposed else (dilation, groups)
    found = derived(lambda x, w: function(x, w, None, stride, padding, *extra), grad_output, input, weight, mask=output_mask)
    bias = grad_output.sum((0, *range(2, grad_output.dim()))) if output_mask[2] else None
    return found[0], found[1], bias


def native_layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: Sequence[int], mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor | None,
    output_mask: Sequence[bool]
) -> tuple[Any, Any, Any]:
    """Return the gradients of ``layer_norm``."""
    eps = _eps_of(input.flatten(-len(normalized_shape)), rstd, (-1,))
    function = lambda x, w, b: F.layer_norm(x, tuple(normalized_shape), w, b, eps)
    return derived(function, grad_out, input, weight, bias, mask=output_mask)


def _eps_of(parts: Tensor, rstd: Tensor, dims: tuple[int, ...]) -> float:
    """Recover the eps from an inverse standard deviation."""
    if not rstd.numel() or rstd.is_meta:
        return 1e-5
    variance = parts.double().var(dims, correction=0).reshape(-1)
    gaps = rstd.double().reshape(-1).pow(-2) - variance
    gap, least = float(gaps[variance.argmin()]), float(variance.min())
    return 0.0 if gap < 0 and -gap <= 1e-6 * max(least, 1e-6) else gap  # a negative gap of rounding errors is 0


def native_group_norm_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor, N: int, C: int, HxW: int, group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the gradients of ``group_norm``."""
    eps = _eps_of(input.reshape(N, group, -1), rstd, (-1,))
    bias = creation.zeros(C, dtype=input.dtype, device=input.device)
    function = lambda x, w, b: F.group_norm(x, group, w, b, eps)
    return derived(function, grad_out, input, weight, bias, mask=output_mask)


def native_batch_norm_backward(
    grad_out: Tensor, input: Tensor, weight: Tensor, running_mean: Tensor, running_var: Tensor, save_mean: Tensor, save_invstd: Tensor,
    train: bool, eps: float, output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the gradients of ``batch_norm``."""
    bias = creation.zeros(input.shape[1 if input.dim() > 1 else 0], dtype=input.dtype, device=input.device)
    mean, var = (None, None) if train else (running_mean.clone(), running_var.clone())
    function = lambda x, w, b: F.batch_norm(x, mean, var, w, b, train, 0.0, eps)
    return derived(function, grad_out, input, weight, bias, mask=output_mask)


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradient of ``embedding`` for the weight, dense."""
    weight = creation.zeros((num_weights, grad_output.shape[-1]), dtype=grad_output.dtype, device=grad_output.device)
    place = None if padding_idx < 0 else padding_idx
    function = lambda w: F.embedding(indices, w, place, scale_grad_by_freq=scale_grad_by_freq)
    return derived(function, grad_output, weight)[0]


def max_pool2d_with_indices_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], ceil_mode: bool, indices: Tensor
) -> Tensor:
    """Return the gradient of ``max_pool2d``, which is differentiable."""
    options = (kernel_size, stride or kernel_size, padding, dilation, ceil_mode)
    return _native.max_pool2d_with_indices_backward(grad_output, self, *options, indices)


def _unpooled(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    """Return zeros of the spatial sizes ``output_size``, with the elements at their indices."""
    rank = len(output_size)
    batch, count = self.shape[: self.dim() - rank], math.prod(output_size)
    if indices.shape != self.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices tensor with shape: "
            f"{list(indices.shape)}"
        )
    flat = creation.zeros((*batch, count), dtype=self.dtype, device=self.device)
    return flat.scatter(-1, indices.reshape((*batch, -1)), self.reshape((*batch, -1))).reshape((*batch, *output_size))


def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    """Return the inverse of ``max_pool2d`` with indices."""
    return _unpooled(self, indices, output_size)


def max_unpool3d(self: Tensor, indices: Tensor, output_size: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> Tensor:
    """Return the inverse of ``max_pool3d`` with indices; ``stride`` and ``padding`` have no effect."""
    return _unpooled(self, indices, output_size)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return the input with whole channels set to the negative saturation value of SELU, in training."""
    return F.feature_alpha_dropout(input, p, train)


def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Return adaptive average pooling to ``output_size``."""
    return F.adaptive_avg_pool2d(self, tuple(output_size))


def _scores(query: Tensor, key: Tensor, is_causal: bool, attn_mask: Tensor | None, scale: Any) -> Tensor:
    if query.shape[1] != key.shape[1]:  # groups of queries share a key
        key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    weight = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        low = creation.full(tuple(weight.shape[-2:]), -math.inf, dtype=weight.dtype, device=weight.device)
        weight = weight + low.triu(1)
    return weight if attn_mask is None else weight + attn_mask


def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Tensor | None = None,
    scale: Any = None
) -> tuple[Tensor, Tensor]:
    """Return attention, and the logsumexp of the scores of each query."""
    groups = query.shape[1] != key.shape[1]
    result = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=groups)
    return result, _scores(query, key, is_causal, attn_mask, scale).logsumexp(-1)
