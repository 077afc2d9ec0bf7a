"""torch.ao.nn.qat.modules.conv: convolutions with fake-quantized weights."""
from __future__ import annotations

from typing import Any

from ..... import nn
from ....._src.core.device import device
from ....._tensor import Tensor
from .....nn.modules.conv import _ConvNd as _Floating
from .....nn.modules.module import Module
from .....nn.modules.utils import _pair, _single, _triple
from ...intrinsic.modules.fused import _FusedModule
from .linear import expect_float, expect_qconfig, take_values

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _ConvNd(_Floating):
    """A convolution with fake-quantized weight."""

    _FLOAT_MODULE: Any
    _FLOAT_CONV_MODULE: Any
    _several: Any  # function that makes a tuple of a number
    _FLOAT_RELU_MODULE: Any
    weight_fake_quant: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", qconfig: Any = None, device: device | str | int | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        made = {"device": device, "dtype": dtype}
        several = type(self)._several
        _Floating.__init__(
            self, in_channels, out_channels, several(kernel_size), several(stride),
            padding if isinstance(padding, str) else several(padding), several(dilation), False, several(0), groups, bias, padding_mode,
            **made,
        )  # fmt: skip
        self.qconfig = expect_qconfig(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs=made)

    def forward(self, input: Tensor) -> Tensor:
        """Run the convolution with the weight fake-quantized."""
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)  # type: ignore[operator]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a float convolution with a ``qconfig``."""
        qconfig = expect_float(cls, mod, f", got {type(mod).__name__}")
        if isinstance(mod, _FusedModule):
            mod = mod[0]
            qconfig = mod.qconfig
        made: Any = cls(
            mod.in_channels, mod.out_channels, mod.kernel_size, stride=mod.stride, padding=mod.padding, dilation=mod.dilation,
            groups=mod.groups, bias=mod.bias is not None, padding_mode=mod.padding_mode, qconfig=qconfig,
        )  # fmt: skip
        made.weight, made.bias = mod.weight, mod.bias
        return made

    def _plain(self) -> Module:
        made = type(self)._FLOAT_CONV_MODULE(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation, self.groups,
            self.bias is not None, self.padding_mode,
        )  # fmt: skip
        return take_values(made, self, "weight", "bias")

    def to_float(self) -> Module:
        """Return the float convolution with these parameters, followed by ReLU if this layer has one."""
        made = self._plain()
        if not isinstance(self, _FusedModule):
            return made
        kind: Any = type(self)
        if not hasattr(kind, "_FLOAT_RELU_MODULE"):
            raise AssertionError(f"{kind.__name__} must have _FLOAT_RELU_MODULE attribute")
        fused = kind._FLOAT_MODULE(made, kind._FLOAT_RELU_MODULE())
        fused.train(self.training)
        return fused


class Conv1d(_ConvNd, nn.Conv1d):
    """A 1-d convolution with fake-quantized weight."""

    _FLOAT_MODULE: Any = nn.Conv1d
    _FLOAT_CONV_MODULE: Any = nn.Conv1d
    _several = staticmethod(_single)


class Conv2d(_ConvNd, nn.Conv2d):
    """A 2-d convolution with fake-quantized weight."""

    _FLOAT_MODULE: Any = nn.Conv2d
    _FLOAT_CONV_MODULE: Any = nn.Conv2d
    _several = staticmethod(_pair)


class Conv3d(_ConvNd, nn.Conv3d):
    """A 3-d convolution with fake-quantized weight."""

    _FLOAT_MODULE: Any = nn.Conv3d
    _FLOAT_CONV_MODULE: Any = nn.Conv3d
    _several = staticmethod(_triple)
