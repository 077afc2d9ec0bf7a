"""torch.ao.nn.intrinsic.qat.modules.conv_fused: convolutions with batch normalization and ReLU, with fake-quantized weights."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mstorch as torch

from ...... import nn
from ......_tensor import Tensor
from ......nn import functional as F
from ......nn import init
from ......nn.modules.conv import _ConvNd as _Floating
from ......nn.modules.module import Module
from ......nn.modules.utils import _pair, _single, _triple
from ......nn.utils.fusion import fuse_conv_bn_weights
from ....qat.modules import conv as qat
from ....qat.modules.linear import expect_float, expect_qconfig, take_values
from ...modules import fused as nni

if TYPE_CHECKING:
    from .....quantization.qconfig import QConfig

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
    "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class FrozenNorm:
    """Mixin of layers with an inner batch normalization whose statistics can be frozen."""

    bn: Any
    freeze_bn: bool
    training: bool

    def _begin(self, freeze_bn: bool) -> None:
        if self.training and not freeze_bn:
            self.update_bn_stats()
        else:
            self.freeze_bn_stats()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        self.bn.reset_running_stats()

    def update_bn_stats(self) -> Any:
        """Enable updates of the running statistics, and normalize by batch statistics."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Any:
        """Freeze the running statistics, and normalize by them in either mode."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Any:
        """Set the training mode, except for frozen statistics."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():  # type: ignore[attr-defined]
                module.train(mode)
        return self

    def _take_norm(self, bn: Any) -> None:
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(self.bn, name, getattr(bn, name))

    def _slope(self) -> Tensor:
        """Return the factor by which the normalization scales each channel, from the running statistics."""
        if self.bn.running_var is None:
            raise AssertionError("self.bn.running_var must not be None")
        return self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)


class _ConvBnNd(FrozenNorm, _Floating, nni._FusedModule):
    """Convolution and batch normalization. The weight is fake-quantized after scaling by the normalization, as it will be quantized."""

    _version = 2
    _FLOAT_MODULE: Any
    _FLOAT_CONV_MODULE: Any
    _FLOAT_BN_MODULE: Any = True
    _FLOAT_RELU_MODULE: Any = None
    _FUSED_FLOAT_MODULE: Any
    _several: Any
    _rank: int
    weight_fake_quant: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1, bias: bool | None = None,
        padding_mode: str = "zeros", eps: float = 1e-05, momentum: float = 0.1, freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        several = type(self)._several
        _Floating.__init__(
            self, in_channels, out_channels, several(kernel_size), several(stride), several(padding), several(dilation), False, several(0),
            groups, False, padding_mode,
        )  # fmt: skip
        self.qconfig = expect_qconfig(qconfig)
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = _NORMS[self._rank - 1](out_channels, eps, momentum, True, True)
        self.weight_fake_quant = self.qconfig.weight()
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_bn_parameters()
        self._begin(freeze_bn)
        self._enable_slow_path_for_better_numerical_stability = False

    def reset_bn_parameters(self) -> None:
        """Reset the normalization's parameters, and the bias."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)
        if self.bias is not None:
            bound = 1 / math.sqrt(init._calculate_fan_in_and_fan_out(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def _forward(self, input: Tensor) -> Tensor:
        if self._enable_slow_path_for_better_numerical_stability:
            return self._forward_slow(input)
        return self._forward_approximate(input)

    def _shapes(self) -> tuple[list[int], list[int]]:
        rest = [1] * (self.weight.dim() - 1)
        return [-1, *rest], [1, -1, *rest[1:]]

    def _convolved(self, input: Tensor, weight: Tensor) -> Tensor:
        """Return the convolution with a zero bias, as torch computes it."""
        like = self.weight if self.bias is None else self.bias
        return self._conv_forward(input, weight, torch.zeros(self.out_channels, device=like.device, dtype=input.dtype))  # type: ignore[operator]

    def _scaled(self, input: Tensor, slope: Tensor) -> Tensor:
        """Return the convolution with the scaled, fake-quantized weight."""
        return self._convolved(input, self.weight_fake_quant(self.weight * slope.reshape(self._shapes()[0])))

    def _forward_approximate(self, input: Tensor) -> Tensor:
        """Run one convolution with the scaled, fake-quantized weight, unscale the result, and normalize it."""
        slope, places = self._slope(), self._shapes()[1]
        found = self._scaled(input, slope) / slope.reshape(places)
        if self.bias is not None:
            found = found + self.bias.reshape(places)
        return self.bn(found)

    def _forward_slow(self, input: Tensor) -> Tensor:
        """Run two convolutions: one for the batch statistics, one with the fake-quantized weight. This also works where the scale is zero.
        """
        places, bn = self._shapes()[1], self.bn
        if bn.running_mean is None:
            raise AssertionError("self.bn.running_mean must not be None")
        if bn.training:
            plain = self._convolved(input, self.weight)
            with torch.no_grad():
                bn(plain if self.bias is None else plain + self.bias.reshape(places))
            running = torch.sqrt(bn.running_var + bn.eps)
            found = self._scaled(input, bn.weight / running)
            dims = [0, *range(2, self.weight.dim())]
            mean = plain.mean(dims)
            spread = torch.sqrt(torch.square(plain - mean.reshape(places)).mean(dims) + bn.eps)
            found *= (running / spread).reshape(places)
        else:
            spread = torch.sqrt(bn.running_var + bn.eps)
            found = self._scaled(input, bn.weight / spread)
            mean = bn.running_mean - (self.bias if self.bias is not None else 0)
        found += (bn.bias - bn.weight * mean / spread).reshape(places)
        if self.bias is not None:  # so that the bias has a gradient, of zeros
            found += (self.bias - self.bias).reshape(places)
        return found

    def forward(self, input: Tensor) -> Tensor:
        """Run the fused layers with the weight fake-quantized."""
        found = self._forward(input)
        return F.relu(found) if self._FLOAT_RELU_MODULE is not None else found

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str], *rest: Any
    ) -> None:
        if local_metadata.get("version") in (None, 1):  # old files: the normalization's entries were not in a submodule
            old = {"weight": "gamma", "bias": "beta"}
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                key, new = prefix + old.get(name, name), f"{prefix}bn.{name}"
                if key in state_dict:
                    state_dict[new] = state_dict.pop(key)
                elif new not in state_dict and strict:
                    missing_keys.append(new)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from float layers with a ``qconfig``."""
        qconfig = expect_float(cls, mod)
        conv, bn = mod[0], mod[1]
        made: Any = cls(
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.dilation, conv.groups,
            conv.bias is not None, conv.padding_mode, bn.eps, bn.momentum, False, qconfig,
        )  # fmt: skip
        made.weight, made.bias = conv.weight, conv.bias
        made._take_norm(bn)
        return made

    def to_float(self) -> Module:
        """Return the float convolution with the normalization folded in, followed by ReLU if this layer has one."""
        cls = type(self)
        conv = cls._FLOAT_CONV_MODULE(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation, self.groups,
            self.bias is not None, self.padding_mode,
        )  # fmt: skip
        take_values(conv, self, "weight", "bias")
        if cls._FLOAT_BN_MODULE:
            conv.weight, conv.bias = folded(conv.weight, conv.bias, self.bn)
        made = cls._FUSED_FLOAT_MODULE(conv, cls._FLOAT_RELU_MODULE()) if cls._FLOAT_RELU_MODULE else conv
        made.train(self.training)
        return made


def folded(weight: Any, bias: Any, bn: Any) -> tuple[Any, Any]:
    """Return the weight and bias of a convolution with the normalization folded in."""
    if bn.running_var is None or bn.running_mean is None:
        raise AssertionError("self.bn.running_var and self.bn.running_mean must not be None")
    return fuse_conv_bn_weights(weight, bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)


class ConvBn1d(_ConvBnNd, nn.Conv1d):
    """Fused Conv1d and BatchNorm1d with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvBn1d
    _FLOAT_CONV_MODULE: Any = nn.Conv1d
    _FLOAT_BN_MODULE: Any = nn.BatchNorm1d
    _several, _rank = staticmethod(_single), 1


class ConvBnReLU1d(ConvBn1d):
    """Fused Conv1d, BatchNorm1d and ReLU with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvBnReLU1d
    _FLOAT_RELU_MODULE: Any = nn.ReLU
    _FUSED_FLOAT_MODULE: Any = nni.ConvReLU1d


class ConvBn2d(_ConvBnNd, nn.Conv2d):
    """Fused Conv2d and BatchNorm2d with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvBn2d
    _FLOAT_CONV_MODULE: Any = nn.Conv2d
    _FLOAT_BN_MODULE: Any = nn.BatchNorm2d
    _several, _rank = staticmethod(_pair), 2


class ConvBnReLU2d(ConvBn2d):
    """Fused Conv2d, BatchNorm2d and ReLU with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvBnReLU2d
    _FLOAT_RELU_MODULE: Any = nn.ReLU
    _FUSED_FLOAT_MODULE: Any = nni.ConvReLU2d


class ConvBn3d(_ConvBnNd, nn.Conv3d):
    """Fused Conv3d and BatchNorm3d with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvBn3d
    _FLOAT_CONV_MODULE: Any = nn.Conv3d
    _FLOAT_BN_MODULE: Any = nn.BatchNorm3d
    _several, _rank = staticmethod(_triple), 3


class ConvBnReLU3d(ConvBn3d):
    """Fused Conv3d, BatchNorm3d and ReLU with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvBnReLU3d
    _FLOAT_RELU_MODULE: Any = nn.ReLU
    _FUSED_FLOAT_MODULE: Any = nni.ConvReLU3d


class _ConvReLU:
    """Mixin that applies ReLU after a convolution with fake-quantized weight."""

    _FLOAT_BN_MODULE: Any = None
    _FLOAT_RELU_MODULE: Any = nn.ReLU

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sequence[int], stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", qconfig: QConfig | None = None,
    ) -> None:  # fmt: skip
        sizes = in_channels, out_channels, kernel_size, stride, padding, dilation
        super().__init__(*sizes, groups=groups, bias=bias, padding_mode=padding_mode, qconfig=qconfig)  # type: ignore[call-arg]

    def forward(self, input: Tensor) -> Tensor:
        """Run the convolution with fake-quantized weight, then ReLU."""
        return F.relu(super().forward(input))


class ConvReLU1d(_ConvReLU, qat.Conv1d, nni._FusedModule):
    """Fused Conv1d and ReLU with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvReLU1d


class ConvReLU2d(_ConvReLU, qat.Conv2d, nni._FusedModule):
    """Fused Conv2d and ReLU with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvReLU2d


class ConvReLU3d(_ConvReLU, qat.Conv3d, nni._FusedModule):
    """Fused Conv3d and ReLU with fake-quantized weight."""

    _FLOAT_MODULE: Any = nni.ConvReLU3d


_WITH_NORM = (ConvBn1d, ConvBn2d, ConvBn3d, ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d)


def update_bn_stats(mod: Any) -> None:
    """Enable updates of a fused layer's statistics: ``model.apply(update_bn_stats)``."""
    if type(mod) in (*_WITH_NORM, *more):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """Freeze a fused layer's statistics: ``model.apply(freeze_bn_stats)``."""
    if type(mod) in (*_WITH_NORM, *more):
        mod.freeze_bn_stats()


more: list[type] = []
"""Further classes of layers that contain batch normalization."""
