"""Convolution layers."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import init
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.ops._numbers import numbers
from ..._tensor import Tensor
from .. import functional as F
from ..parameter import UninitializedParameter
from ._looked_up import LookedUp
from ._made import parameter
from ._own_init import own_init
from ._state import complete
from .lazy import LazyModuleMixin
from .module import Module

_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """Base of convolutions: weight (out, in / groups, *kernel), or (in, out / groups, *kernel) if transposed."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    ]  # fmt: skip
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: Any,
        dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool,
        padding_mode: str, device: int | str | device | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        words = {"same", "valid"}
        if isinstance(padding, str):
            if padding not in words:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {words}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            sides = [0, 0] * len(kernel_size)
            if padding == "same":
                for d, k, i in zip(dilation, kernel_size, range(len(kernel_size) - 1, -1, -1)):
                    total = d * (k - 1)
                    sides[2 * i], sides[2 * i + 1] = total // 2, total - total // 2
            self._reversed_padding_repeated_twice: Any = sides
        else:
            self._reversed_padding_repeated_twice = tuple(p for p in reversed(padding) for _ in range(2))
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = parameter(first, second // groups, *kernel_size, device=device, dtype=dtype)
        if bias:
            self.bias = parameter(out_channels, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(complete(state, padding_mode="zeros"))  # early files lack it

    def reset_parameters(self) -> None:
        """Initialize weight, then bias, uniformly in ±1/sqrt(in / groups * kernel elements)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the arguments that differ from their defaults, for the module's repr."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    _rank: int
    _function: Callable[..., Tensor]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: int | str | device | None = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        rank = self._rank
        super().__init__(
            in_channels, out_channels, numbers(kernel_size, rank), numbers(stride, rank),
            padding if isinstance(padding, str) else numbers(padding, rank), numbers(dilation, rank), False, (0,) * rank,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        function = type(self)._function
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return function(padded, weight, bias, self.stride, (0,) * self._rank, self.dilation, self.groups)
        return function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C_in, *) → (N, C_out, *), or unbatched."""
        return self._conv_forward(input, self.weight, self.bias)


@own_init
class Conv1d(_Conv):
    """Applies a convolution to (N, C_in, L) or (C_in, L)."""

    _rank = 1
    _function = LookedUp("conv1d")
    padding: str | tuple[int, ...]


@own_init
class Conv2d(_Conv):
    """Applies a convolution to (N, C_in, H, W) or (C_in, H, W)."""

    _rank = 2
    _function = LookedUp("conv2d")
    padding: str | tuple[int, ...]


@own_init
class Conv3d(_Conv):
    """Applies a convolution to (N, C_in, D, H, W) or (C_in, D, H, W)."""

    _rank = 3
    _function = LookedUp("conv3d")
    padding: str | tuple[int, ...]


class _ConvTransposeNd(_ConvNd):
    _rank: int
    _function: Callable[..., Tensor]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: int = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: int | str | device | None = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        rank = self._rank
        super().__init__(
            in_channels, out_channels, numbers(kernel_size, rank), numbers(stride, rank), numbers(padding, rank),
            numbers(dilation, rank), True, numbers(output_padding, rank), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return the output padding that results in the requested output size."""
        if output_size is None:
            return self.output_padding
        rank = self._rank
        size = list(output_size)
        spatial = input.dim() - rank
        if len(size) == input.dim():
            size = size[spatial:]
        if len(size) != rank:
            raise ValueError(
                f"ConvTranspose{rank}D: for {input.dim()}D input, output_size must have {rank} or {input.dim()} elements (got "
                f"{len(size)})"
            )
        lows = [
            (input.size(spatial + d) - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1
            for d in range(rank)
        ]
        highs = [low + stride - 1 for low, stride in zip(lows, self.stride)]
        if any(not low <= n <= high for n, low, high in zip(size, lows, highs)):
            raise ValueError(
                f"requested an output size of {tuple(output_size)}, but valid sizes range from {lows} to {highs} (for an input of "
                f"{input.size()[2:]})"
            )
        return tuple(n - low for n, low in zip(size, lows))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Apply the layer: (N, C_in, *) → (N, C_out, *), or unbatched; ``output_size`` selects among the possible sizes."""
        padding = self._output_padding(input, output_size)
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation
        )


class _ConvTransposeMixin(_ConvTransposeNd):
    """The former base class of transposed convolutions, which programs still import."""


@own_init
class ConvTranspose1d(_ConvTransposeNd):
    """Applies a transposed convolution to (N, C_in, L) or (C_in, L)."""

    _rank = 1
    _function = LookedUp("conv_transpose1d")
    padding: str | tuple[int, ...]


@own_init
class ConvTranspose2d(_ConvTransposeNd):
    """Applies a transposed convolution to (N, C_in, H, W) or (C_in, H, W)."""

    _rank = 2
    _function = LookedUp("conv_transpose2d")
    padding: str | tuple[int, ...]


@own_init
class ConvTranspose3d(_ConvTransposeNd):
    """Applies a transposed convolution to (N, C_in, D, H, W) or (C_in, D, H, W)."""

    _rank = 3
    _function = LookedUp("conv_transpose3d")
    padding: str | tuple[int, ...]


class _LazyConvXdMixin(LazyModuleMixin):
    _rank: int

    def reset_parameters(self: Any) -> None:
        """Initialize weight, then bias, once their shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            _ConvNd.reset_parameters(self)

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Set in_channels from the input."""
        if not self.has_uninitialized_params():
            return
        rank = self._rank
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}"
            )
        self.in_channels = input.shape[1] if input.dim() == rank + 2 else input.shape[0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        ends = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        self.weight.materialize((ends[0], ends[1] // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvXdMixin, _Conv):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", device: int | str | device | None = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)


class _LazyConvTranspose(_LazyConvXdMixin, _ConvTransposeNd):
    def __init__(
        self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
        output_padding: int = 0, groups: int = 1,
        bias: bool = True, dilation: int | Sequence[int] = 1, padding_mode: str = "zeros", device: int | str | device | None = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)


@own_init
class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d that infers in_channels from the first input."""

    cls_to_become = Conv1d


@own_init
class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d that infers in_channels from the first input."""

    cls_to_become = Conv2d


@own_init
class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d that infers in_channels from the first input."""

    cls_to_become = Conv3d


@own_init
class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """ConvTranspose1d that infers in_channels from the first input."""

    cls_to_become = ConvTranspose1d


@own_init
class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d that infers in_channels from the first input."""

    cls_to_become = ConvTranspose2d


@own_init
class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """ConvTranspose3d that infers in_channels from the first input."""

    cls_to_become = ConvTranspose3d


__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip
