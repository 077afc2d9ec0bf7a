"""torch.ao.nn.quantized.modules.linear: a linear layer on quantized tensors."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..... import nn
from ....._tensor import Tensor
from .....nn.modules.module import Module
from .....nn.utils.parametrize import type_before_parametrizations
from ...intrinsic import qat as nniqat
from ...intrinsic.modules.fused import LinearReLU
from ...intrinsic.qat.modules.linear_fused import folded
from .utils import WeightedQuantizedModule, _quantize_weight, expect_observed, text_without

__all__ = ["Linear", "LinearPackedParams"]
_UNSUPPORTED = "Unsupported dtype on dynamic quantized linear!"


class LinearPackedParams(nn.Module):
    """The packed weight and bias of a linear layer."""

    _version = 3

    def __init__(self, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        if dtype == torch.qint8:
            weight = torch._empty_affine_quantized([1, 1], scale=1.0, zero_point=0, dtype=torch.qint8)
        elif dtype == torch.float16:
            weight = torch.zeros([1, 1], dtype=torch.float)
        self.set_weight_bias(weight, None)

    def set_weight_bias(self, weight: Tensor, bias: Tensor | None) -> None:
        """Pack a weight and a bias."""
        names = {torch.qint8: "linear_prepack", torch.float16: "linear_prepack_fp16"}
        if self.dtype not in names:
            raise RuntimeError(_UNSUPPORTED)
        self._packed_params = getattr(torch.ops.quantized, names[self.dtype])(weight, bias)

    def _weight_bias(self) -> tuple[Any, Any]:
        return torch.ops.quantized.linear_unpack(self._packed_params)

    def forward(self, x: Any) -> Any:
        """Return the input unchanged; the enclosing layer computes the result."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        self.dtype = torch.qint8 if version is None or version < 2 else state_dict.pop(prefix + "dtype")
        if version is None or version < 3:
            self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        else:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(WeightedQuantizedModule):
    """A linear layer with quantized input, weight and output."""

    _version = 3
    _FLOAT_MODULE: Any = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bias = torch.zeros(out_features, dtype=torch.float) if bias_ else None
        if dtype == torch.qint8:
            weight = torch._empty_affine_quantized([out_features, in_features], scale=1, zero_point=0, dtype=torch.qint8)
        elif dtype == torch.float16:
            weight = torch.zeros([out_features, in_features], dtype=torch.float)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale = 1.0
        self.zero_point = 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        """Return the sizes, and the quantization of output and weight, for the module's repr."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, zero_point={self.zero_point}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return text_without(self, LinearPackedParams)

    def forward(self, x: Tensor) -> Tensor:
        """Run the layer on a quantized tensor."""
        return torch.ops.quantized.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        if local_metadata.get("version") in (None, 1):
            for name in ("weight", "bias"):
                state_dict[f"{prefix}_packed_params.{name}"] = state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """Return the quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """Return the floating bias, or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Pack and set a weight and a bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a module with observers."""
        activation = mod.activation_post_process if hasattr(mod, "activation_post_process") else None
        if hasattr(mod, "weight_fake_quant"):
            if type_before_parametrizations(mod) == nniqat.LinearBn1d:
                mod.weight, mod.bias = folded(mod)
            observer = mod.weight_fake_quant
        else:
            kinds = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, (tuple, list)) else [cls._FLOAT_MODULE]
            if type_before_parametrizations(mod) not in kinds:
                names = ", ".join(kind.__name__ for kind in kinds)
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {names}, but got: {type(mod)}")
            expect_observed(mod)
            if type_before_parametrizations(mod) == LinearReLU:
                mod = mod[0]
            observer = mod.weight_fake_quant if hasattr(mod, "weight_fake_quant") else mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            observer(mod.weight)
        scale, point = activation.calculate_qparams()  # type: ignore[union-attr]
        if observer.dtype != torch.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), observer), mod.bias)
        made.scale, made.zero_point = float(scale), int(point)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """Construct the module from a reference module."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made
