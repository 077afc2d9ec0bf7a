"""torch.ao.nn.quantized.dynamic.modules.linear: a dynamically quantized linear layer."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ...... import nn
from ......ao.quantization.qconfig import default_dynamic_qconfig
from ......nn.modules.module import Module
from ....intrinsic.modules import fused as nni
from ....qat import dynamic as qat
from ...modules import linear as nnq
from ...modules.utils import _quantize_weight, expect_observed

__all__ = ["Linear"]


class Linear(nnq.Linear):
    """A linear layer that quantizes its float input by the input's range, and returns float results."""

    _version = 4

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version: int | None = 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the layer on a float tensor."""
        packed, kind = self._packed_params._packed_params, self._packed_params.dtype
        if kind == torch.qint8:
            found = torch.ops.quantized.linear_dynamic(x, packed, reduce_range=self.version is not None and self.version >= 4)
        elif kind == torch.float16:
            found = torch.ops.quantized.linear_dynamic_fp16(x, packed)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return found.to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Return the sizes, and the weight's quantization, for the module's repr."""
        kind = self._packed_params.dtype
        found = f"in_features={self.in_features}, out_features={self.out_features}, dtype={kind}"
        return found + (f", qscheme={self.weight().qscheme()}" if kind == torch.qint8 else "")

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a float layer with a ``qconfig``."""
        kinds = [nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear, nni.LinearReLU, qat.Linear]
        if type(mod) not in kinds:
            names = str([kind.__name__ for kind in kinds])
            raise AssertionError(f"nn.quantized.dynamic.Linear.from_float only works for one of{names}, got {type(mod)}")
        expect_observed(mod)
        if type(mod) is nni.LinearReLU:
            mod = mod[0]
        given = mod.qconfig is not None and mod.qconfig.weight is not None
        observer = (mod.qconfig if given else default_dynamic_qconfig).weight()
        if observer.dtype not in (torch.qint8, torch.float16):
            raise AssertionError(f"The only supported dtypes for dynamic quantized linear are qint8 and float16, got: {observer.dtype}")
        observer(mod.weight)
        weight = mod.weight.float()
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(_quantize_weight(weight, observer) if observer.dtype == torch.qint8 else weight, mod.bias)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any) -> Any:
        """Construct the module from a reference module."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features, dtype=ref_qlinear.weight_dtype)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        return made
