"""torch.ao.nn.quantized.modules.conv: convolutions on quantized tensors."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..... import nn
from ....._src.core.device import device
from ....._src.core.dtype import dtype
from ....._src.hook import missing as _missing
from ....._tensor import Tensor
from .....nn import functional as F
from .....nn.modules.module import Module
from .....nn.modules.utils import _pair, _single, _triple
from ...intrinsic import qat as nniqat
from ...intrinsic.modules import fused as nni
from ...intrinsic.qat.modules.conv_fused import folded
from .utils import WeightedQuantizedModule, _quantize_weight, expect_observed

__all__ = ["Conv1d", "Conv2d", "Conv3d"]
_PARTS = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "transposed", "output_padding", "groups", "padding_mode",
)  # fmt: skip


class _ConvNd(WeightedQuantizedModule):
    """A convolution with quantized input, weight and output."""

    _FLOAT_MODULE: Any
    _NNIQAT_CONV_BN_MODULE: Any
    _NNI_CONV_RELU_MODULE: Any
    _rank: int
    _several: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sequence[int], stride: Any = 1, padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", device: device | str | int | None = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if out_channels <= 0:
            raise ValueError(f"out_channels must be greater than 0, got {out_channels}")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect"):
            raise ValueError(f"'padding_mode' {padding_mode} is not supported by quantized convolution")
        several = type(self)._several
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = several(kernel_size)
        self.stride = several(stride)
        self.padding = padding if isinstance(padding, str) else several(padding)
        self.dilation = several(dilation)
        self.transposed = False
        self.output_padding = several(0)
        self.groups = groups
        self.padding_mode = padding_mode
        size = [out_channels, in_channels // groups, *self.kernel_size]
        weight = torch._empty_affine_quantized(size, scale=1, zero_point=0, dtype=torch.qint8, device=device)
        self.set_weight_bias(weight, torch.zeros(out_channels, dtype=torch.float, device=device) if bias else None)
        self.scale = 1.0
        self.zero_point = 0

    def _get_name(self) -> str:
        return f"QuantizedConv{self._rank}d"

    def set_weight_bias(self, w: Tensor, b: Any) -> None:
        """Pack and set a weight and a bias."""
        padding = self.padding if self.padding_mode == "zeros" else type(self)._several(0)
        pack = getattr(torch.ops.quantized, f"conv{self._rank}d_prepack")
        self._packed_params = pack(w, b, self.stride, padding, self.dilation, self.groups)

    def _weight_bias(self) -> tuple[Any, Any]:
        return getattr(torch.ops.quantized, f"conv{self._rank}d_unpack")(self._packed_params)

    def weight(self) -> Any:
        """Return the quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Tensor:
        """Return the float bias, or None."""
        return self._weight_bias()[1]

    def extra_repr(self) -> str:
        """Return the sizes, and the output's quantization, for the module's repr."""
        found = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            found += f", {name}={value}" if value != (usual,) * len(value) else ""
        found += f", groups={self.groups}" if self.groups != 1 else ""
        return found + (", bias=False" if self.bias() is None else "")

    def _operator(self) -> str:
        return f"conv{self._rank}d"

    def forward(self, input: Tensor) -> Tensor:
        """Run the convolution on a quantized tensor."""
        if len(input.shape) != self._rank + 2:
            raise ValueError(f"Input shape must be `(N, C, {('L', 'H, W', 'D, H, W')[self._rank - 1]})`!")
        if self.padding_mode != "zeros":
            input = F.pad(input, [item for length in reversed(self.padding) for item in (length, length)], mode=self.padding_mode)
        return getattr(torch.ops.quantized, self._operator())(input, self._packed_params, self.scale, self.zero_point)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def __getstate__(self) -> tuple[Any, ...]:
        return (*(getattr(self, name) for name in _PARTS), *self._weight_bias(), self.scale, self.zero_point, self.training)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if "_modules" not in self.__dict__:
            nn.Module.__init__(self)
        for name, value in zip(_PARTS, state):
            setattr(self, name, value)
        self.set_weight_bias(state[10], state[11])
        self.scale, self.zero_point, self.training = state[12:15]

    def __deepcopy__(self, memo: dict[Any, Any]) -> Module:
        made = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    def __copy__(self) -> Any:
        return self.__deepcopy__({})

    @classmethod
    def get_qconv(cls, mod: Any, activation_post_process: Any, weight_post_process: Any = None) -> Module:
        """Construct the module from a float convolution and its observers."""
        observer = mod.qconfig.weight() if weight_post_process is None else weight_post_process
        observer(mod.weight)
        if observer.dtype != torch.qint8:
            raise AssertionError("Weight observer must have a dtype of qint8")
        weight = _quantize_weight(mod.weight.float(), observer)
        made: Any = cls(
            mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding, mod.dilation, mod.groups, mod.bias is not None,
            mod.padding_mode,
        )  # fmt: skip
        made.set_weight_bias(weight, mod.bias)
        if activation_post_process is not None and activation_post_process.dtype != torch.float:
            scale, point = activation_post_process.calculate_qparams()
            made.scale, made.zero_point = float(scale), int(point)
        return made

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a module with observers."""
        activation = getattr(mod, "activation_post_process", None)
        if hasattr(mod, "weight_fake_quant"):
            if hasattr(mod, "bn"):
                mod.weight, mod.bias = folded(mod.weight, mod.bias, mod.bn)
            return cls.get_qconv(mod, activation, mod.weight_fake_quant)
        if type(mod) is not cls._FLOAT_MODULE and type(mod) is not cls._NNI_CONV_RELU_MODULE:
            raise AssertionError(f" nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__} but got:{type(mod)}")
        expect_observed(mod)
        if type(mod) is cls._NNI_CONV_RELU_MODULE:
            mod = mod[0]
        return cls.get_qconv(mod, activation, getattr(mod, "weight_fake_quant", None))

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """Construct the module from a reference module."""
        made: Any = cls(
            ref_qconv.in_channels, ref_qconv.out_channels, ref_qconv.kernel_size, ref_qconv.stride, ref_qconv.padding, ref_qconv.dilation,
            ref_qconv.groups, ref_qconv.bias is not None, ref_qconv.padding_mode,
        )  # fmt: skip
        made.set_weight_bias(ref_qconv.get_quantized_weight(), ref_qconv.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


class Conv1d(_ConvNd):
    """A 1-d convolution on quantized tensors."""

    _FLOAT_MODULE: Any = nn.Conv1d
    _NNIQAT_CONV_BN_MODULE, _NNI_CONV_RELU_MODULE = nniqat.ConvBn1d, nni.ConvReLU1d
    _rank, _several = 1, staticmethod(_single)


class Conv2d(_ConvNd):
    """A 2-d convolution on quantized tensors."""

    _FLOAT_MODULE: Any = nn.Conv2d
    _NNIQAT_CONV_BN_MODULE, _NNI_CONV_RELU_MODULE = nniqat.ConvBn2d, nni.ConvReLU2d
    _rank, _several = 2, staticmethod(_pair)


class Conv3d(_ConvNd):
    """A 3-d convolution on quantized tensors."""

    _FLOAT_MODULE: Any = nn.Conv3d
    _NNIQAT_CONV_BN_MODULE, _NNI_CONV_RELU_MODULE = nniqat.ConvBn3d, nni.ConvReLU3d
    _rank, _several = 3, staticmethod(_triple)

__getattr__ = _missing(__name__)
