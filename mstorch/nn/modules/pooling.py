"""Pooling layers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.ops._numbers import numbers
from ..._tensor import Tensor
from .. import functional as F
from ._looked_up import LookedUp
from ._own_init import own_init
from ._state import complete
from .module import Module


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _function: Any

    def __init__(
        self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """Apply the layer: (N, C, *) → (N, C, *), or unbatched; with ``return_indices`` also the indices."""
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Returns the maximum of each window of (N, C, L) or (C, L)."""

    _function = LookedUp("max_pool1d")
    dilation: int | tuple[int]
    kernel_size: int | tuple[int]
    padding: int | tuple[int]
    stride: int | tuple[int]


class MaxPool2d(_MaxPoolNd):
    """Returns the maximum of each window of (N, C, H, W) or (C, H, W)."""

    _function = LookedUp("max_pool2d")
    dilation: int | tuple[int, int]
    kernel_size: int | tuple[int, int]
    padding: int | tuple[int, int]
    stride: int | tuple[int, int]


class MaxPool3d(_MaxPoolNd):
    """Returns the maximum of each window of (N, C, D, H, W) or (C, D, H, W)."""

    _function = LookedUp("max_pool3d")
    dilation: int | tuple[int, int, int]
    kernel_size: int | tuple[int, int, int]
    padding: int | tuple[int, int, int]
    stride: int | tuple[int, int, int]


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Returns the mean of each window of (N, C, L) or (C, L)."""

    kernel_size: int | tuple[int]
    padding: int | tuple[int]
    stride: int | tuple[int]

    def __init__(
        self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
        ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__()
        self.kernel_size = numbers(kernel_size, 1)
        self.stride = numbers(stride if stride is not None else kernel_size, 1)
        self.padding = numbers(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, L) → (N, C, L_out), or unbatched."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    _function: Any

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *), or unbatched."""
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        )


@own_init
class AvgPool2d(_AvgPoolWithDivisor):
    """Returns the mean of each window of (N, C, H, W) or (C, H, W)."""

    _function = LookedUp("avg_pool2d")
    kernel_size: int | tuple[int, int]
    padding: int | tuple[int, int]
    stride: int | tuple[int, int]


@own_init
class AvgPool3d(_AvgPoolWithDivisor):
    """Returns the mean of each window of (N, C, D, H, W) or (C, D, H, W)."""

    _function = LookedUp("avg_pool3d")
    kernel_size: int | tuple[int, int, int]
    padding: int | tuple[int, int, int]
    stride: int | tuple[int, int, int]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(complete(state, padding=0, ceil_mode=False, count_include_pad=True))  # early files lack them


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _function: Any

    def __init__(
        self, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *), or unbatched."""
        return type(self)._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Returns the p-norm of each window of (N, C, L) or (C, L)."""

    _function = LookedUp("lp_pool1d")
    kernel_size: int | tuple[int]
    stride: int | tuple[int]


class LPPool2d(_LPPoolNd):
    """Returns the p-norm of each window of (N, C, H, W) or (C, H, W)."""

    _function = LookedUp("lp_pool2d")
    kernel_size: int | tuple[int, int]
    stride: int | tuple[int, int]


class LPPool3d(_LPPoolNd):
    """Returns the p-norm of each window of (N, C, D, H, W) or (C, D, H, W)."""

    _function = LookedUp("lp_pool3d")
    kernel_size: int | tuple[int, int, int]
    stride: int | tuple[int, int, int]


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    _function: Any

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Apply the layer: (N, C, *) → (N, C, *output_size), or unbatched; with ``return_indices`` also the indices."""
        return type(self)._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Max-pools (N, C, L) or (C, L) to a given output size."""

    _function = LookedUp("adaptive_max_pool1d")
    output_size: int | tuple[int]


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Max-pools (N, C, H, W) or (C, H, W) to a given output size."""

    _function = LookedUp("adaptive_max_pool2d")
    output_size: int | None | tuple[int | None, int | None]


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Max-pools (N, C, D, H, W) or (C, D, H, W) to a given output size."""

    _function = LookedUp("adaptive_max_pool3d")
    output_size: int | None | tuple[int | None, int | None, int | None]


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]
    _function: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *output_size), or unbatched."""
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average-pools (N, C, L) or (C, L) to a given output size."""

    _function = LookedUp("adaptive_avg_pool1d")
    output_size: int | tuple[int]


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average-pools (N, C, H, W) or (C, H, W) to a given output size."""

    _function = LookedUp("adaptive_avg_pool2d")
    output_size: int | None | tuple[int | None, int | None]


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average-pools (N, C, D, H, W) or (C, D, H, W) to a given output size."""

    _function = LookedUp("adaptive_avg_pool3d")
    output_size: int | None | tuple[int | None, int | None, int | None]


class _MaxUnpoolNd(Module):
    _rank: int
    _function: Any
    kernel_size: Any
    stride: Any
    padding: Any

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = numbers(kernel_size, self._rank)
        self.stride = numbers(stride if stride is not None else kernel_size, self._rank)
        self.padding = numbers(padding, self._rank)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Apply the layer: (N, C, *), indices (N, C, *) → (N, C, *), or unbatched."""
        return type(self)._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@own_init
class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the values of (N, C, L) or (C, L) back at MaxPool1d's indices, zeros elsewhere."""

    _rank = 1
    _function = LookedUp("max_unpool1d")
    kernel_size: int | tuple[int]
    padding: int | tuple[int]
    stride: int | tuple[int]


@own_init
class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the values of (N, C, H, W) or (C, H, W) back at MaxPool2d's indices, zeros elsewhere."""

    _rank = 2
    _function = LookedUp("max_unpool2d")
    kernel_size: int | tuple[int, int]
    padding: int | tuple[int, int]
    stride: int | tuple[int, int]


@own_init
class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the values of (N, C, D, H, W) or (C, D, H, W) back at MaxPool3d's indices, zeros elsewhere."""

    _rank = 3
    _function = LookedUp("max_unpool3d")
    kernel_size: int | tuple[int, int, int]
    padding: int | tuple[int, int, int]
    stride: int | tuple[int, int, int]


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _rank: int
    _function: Any
    kernel_size: Any
    output_size: Any
    output_ratio: Any

    def __init__(
        self, kernel_size: Any, output_size: int | Sequence[int] | None = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name, rank = type(self).__name__, self._rank
        self.kernel_size = numbers(kernel_size, rank)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else numbers(output_size, rank)
        self.output_ratio = None if output_ratio is None else numbers(output_ratio, rank)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """Apply the layer: (N, C, *) → (N, C, *output_size), or unbatched; with ``return_indices`` also the indices."""
        return type(self)._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


@own_init
class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Fractional max pooling of (N, C, H, W) or (C, H, W), with randomly placed windows (https://arxiv.org/abs/1412.6071)."""

    _rank = 2
    _function = LookedUp("fractional_max_pool2d")
    kernel_size: int | tuple[int, int]
    output_ratio: float | tuple[float, float]
    output_size: int | tuple[int, int]


@own_init
class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Fractional max pooling of (N, C, D, H, W) or (C, D, H, W), with randomly placed windows."""

    _rank = 3
    _function = LookedUp("fractional_max_pool3d")
    kernel_size: int | tuple[int, int, int]
    output_ratio: float | tuple[float, float, float]
    output_size: int | tuple[int, int, int]


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d",
    "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip
