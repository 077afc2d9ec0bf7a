"""Linear layers."""
from __future__ import annotations

import math
from typing import Any

from ... import init
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._tensor import Tensor
from .. import functional as F
from ..parameter import UninitializedParameter
from ._made import parameter
from .lazy import LazyModuleMixin
from .module import Module


class Identity(Module):
    """Returns its input; constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return input


class Linear(Module):
    """Computes ``x @ weight.T + bias``, with weight (out_features, in_features) uniform in ±1/sqrt(in_features)."""

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: int | str | device | None = None,
        dtype: dtype | None = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = parameter(out_features, in_features, device=device, dtype=dtype)
        if bias:
            self.bias = parameter(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize weight, then bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (*, in_features) → (*, out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that dynamic quantization skips, used for attention's output projection."""


class Bilinear(Module):
    """Computes ``x1 @ weight @ x2 + bias``, with weight (out, in1, in2) uniform in ±1/sqrt(in1_features)."""

    __constants__ = ["in1_features", "in2_features", "out_features"]
    weight: Tensor

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: int | str | device | None = None,
        dtype: dtype | None = None
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = parameter(out_features, in1_features, in2_features, device=device, dtype=dtype)
        if bias:
            self.bias = parameter(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize weight, then bias."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Apply the layer: (*, in1_features), (*, in2_features) → (*, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """Linear that infers in_features from the first input."""

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(self, out_features: int, bias: bool = True, device: int | str | device | None = None, dtype: dtype | None = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Initialize weight, then bias, once their shapes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Set in_features from the input."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from self.weight: "
                    f"{self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


__all__ = [
    "Bilinear", "Identity", "LazyLinear", "Linear",
]  # fmt: skip
