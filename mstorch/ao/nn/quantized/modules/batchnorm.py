"""torch.ao.nn.quantized.modules.batchnorm: batch normalization on quantized tensors."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .....nn.modules.batchnorm import _BatchNorm as _Floating
from ...intrinsic.modules import fused as nni

__all__ = ["BatchNorm2d", "BatchNorm3d"]


class _BatchNorm(_Floating):
    """Batch normalization by running statistics, on quantized tensors."""

    _NNI_BN_RELU_MODULE: Any
    _rank: int
    scale: Any
    zero_point: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: torch.dtype | None = None
    ) -> None:
        made = {"device": device, "dtype": dtype}
        super().__init__(num_features, eps, momentum, True, True, **made)
        self.register_buffer("scale", torch.tensor(1.0, **made))
        self.register_buffer("zero_point", torch.tensor(0, **made))

    def _get_name(self) -> str:
        return f"QuantizedBatchNorm{self._rank}d"

    def _operator(self) -> str:
        return f"batch_norm{self._rank}d"

    def forward(self, input: Any) -> Any:
        """Return the normalized tensor."""
        function = getattr(torch.ops.quantized, self._operator())
        return function(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, float(self.scale), int(self.zero_point)
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Construct the module from a module with an observer."""
        observer = mod.activation_post_process
        if type(mod) is cls._NNI_BN_RELU_MODULE:
            mod = mod[0]
        made: Any = cls(mod.num_features, mod.eps)
        for name in ("weight", "bias", "running_mean", "running_var"):
            setattr(made, name, getattr(mod, name))
        made.scale, made.zero_point = observer.calculate_qparams()
        return made

    @classmethod
    def from_reference(cls, bn: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """Construct the module from a float module."""
        made: Any = cls(bn.num_features, bn.eps, bn.momentum, device=bn.weight.device, dtype=bn.weight.dtype)
        for name in ("weight", "bias", "running_mean", "running_var"):
            setattr(made, name, getattr(bn, name))
        made.scale, made.zero_point = output_scale, output_zero_point
        return made


class BatchNorm2d(_BatchNorm):
    """BatchNorm2d on quantized tensors."""

    _NNI_BN_RELU_MODULE, _rank = nni.BNReLU2d, 2


class BatchNorm3d(_BatchNorm):
    """BatchNorm3d on quantized tensors."""

    _NNI_BN_RELU_MODULE, _rank = nni.BNReLU3d, 3
