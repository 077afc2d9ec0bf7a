"""Linear layers with packed weights on torch's CPU (fbgemm): float16 weights, and quantization of a weight to int8."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..core.dtype import float16, float32, int8, int32, uint8
from ..core.warned import warn_once
from ..ops._dispatch import type_word
from ..ops.linalg.matmul import matmul
from ..ops.memory.creation import zeros
from ..quantized.params import choose_one


def _warn_deprecated(name: str) -> None:
    warn_once(f"{name} is deprecated and will be removed in a future PyTorch release.")


def _check(*tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.dtype is not float32:
            raise RuntimeError(f"expected scalar type Float but found {type_word(tensor.dtype)}")


def fbgemm_linear_quantize_weight(input: Tensor) -> tuple[Tensor, Tensor, float, int]:
    """Return the weight quantized to int8, the sum of each row's integers minus their zero points (int32), the scale and the zero point."""
    _warn_deprecated("fbgemm_linear_quantize_weight")
    _check(input)
    rows, columns = input.shape[0], input.size(1)
    low, high = input.min().item(), input.max().item()
    scale, point = choose_one(low, high, -128, 127)
    made = ((input / scale).round() + point).clamp(-128, 127).to(int8)
    sums = made.flatten()[: rows * columns].reshape(rows, columns).sum(1) - point * columns
    return made, sums.to(int32), float(np.float32(scale)), point


def fbgemm_pack_gemm_matrix_fp16(input: Tensor) -> Tensor:
    """Return the weight rounded to float16, packed for ``fbgemm_linear_fp16_weight``; its elements cannot be read."""
    _warn_deprecated("fbgemm_pack_gemm_matrix_fp16")
    input.size(1)
    _check(input)
    packed: Any = zeros(8, dtype=uint8)
    packed._packed = input.detach().clamp(-65504, 65504).to(float16)
    return packed


def _linear(name: str, input: Tensor, packed: Any, bias: Tensor, output: Tensor | None) -> Tensor:
    _warn_deprecated(name)
    weight = getattr(packed, "_packed", None)
    if weight is None:
        raise RuntimeError("Expected temp.valid() to be true, but got false.")
    _check(input)
    if input.shape[-1] != weight.shape[1]:
        raise RuntimeError("Expected input.size(input.dim() - 1) == packed_weight_fp16.numRows() to be true, but got false.")
    _check(bias)
    found = matmul(input.detach(), weight.to(float32).t()) + bias.detach()
    return found if output is None else output.resize_(found.shape).copy_(found)


def fbgemm_linear_fp16_weight(input: Tensor, packed_weight: Tensor, bias: Tensor, output: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias`` for a weight packed by ``fbgemm_pack_gemm_matrix_fp16``; no gradient."""
    return _linear("fbgemm_linear_fp16_weight", input, packed_weight, bias, output)


def fbgemm_linear_fp16_weight_fp32_activation(
    input: Tensor, packed_weight: Tensor, bias: Tensor | None, output: Tensor | None = None
) -> Tensor:
    """Return ``fbgemm_linear_fp16_weight``; the bias may be None."""
    bias = zeros(1) if bias is None else bias
    return _linear("fbgemm_linear_fp16_weight_fp32_activation", input, packed_weight, bias, output)


FUNCTIONS = {
    function.__name__: function
    for function in (
        fbgemm_linear_quantize_weight, fbgemm_pack_gemm_matrix_fp16, fbgemm_linear_fp16_weight, fbgemm_linear_fp16_weight_fp32_activation,
    )
}  # fmt: skip
