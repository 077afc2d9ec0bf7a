"""torch.ao.nn.intrinsic.qat.modules.linear_fused: a linear layer with batch normalization and fake-quantized weight."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mstorch as torch

from ...... import nn
from ......nn import functional as F
from ......nn import init
from ......nn.modules.module import Module
from ......nn.utils.fusion import fuse_linear_bn_weights
from ....qat.modules.linear import expect_float, expect_qconfig
from ...modules import fused as nni
from .conv_fused import FrozenNorm

if TYPE_CHECKING:
    from .....quantization.qconfig import QConfig

__all__ = ["LinearBn1d"]


class LinearBn1d(FrozenNorm, nn.Linear, nni._FusedModule):
    """Linear and BatchNorm1d. The weight is fake-quantized after scaling by the normalization, as it will be quantized."""

    _FLOAT_MODULE = nni.LinearBn1d

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-05, momentum: float = 0.1, freeze_bn: bool = False,
        qconfig: QConfig | None = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias)
        self.qconfig = expect_qconfig(qconfig)
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = nn.BatchNorm1d(out_features, eps, momentum, True, True)
        self.weight_fake_quant = self.qconfig.weight()
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_bn_parameters()
        self._begin(freeze_bn)

    def reset_bn_parameters(self) -> None:
        """Reset the normalization's parameters."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Run the fused layers with the weight fake-quantized."""
        slope = self._slope()
        weight = self.weight_fake_quant(self.weight * slope.reshape(-1, 1))
        found = F.linear(input, weight, torch.zeros(self.out_features, device=weight.device)) / slope.reshape(1, -1)
        if self.bias is not None:
            found = found + self.bias.reshape(1, -1)
        return self.bn(found)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from float layers with a ``qconfig``."""
        qconfig = expect_float(cls, mod)
        linear, bn = mod[0], mod[1]
        made = cls(linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum, False, qconfig)
        made.weight, made.bias = linear.weight, linear.bias
        made._take_norm(bn)
        return made

    def to_float(self) -> Module:
        """Return the float layer with the normalization folded in."""
        made = nn.Linear(self.in_features, self.out_features)
        if self.bn.running_var is None or self.bn.running_mean is None:
            raise AssertionError("self.bn.running_var and self.bn.running_mean must not be None")
        made.weight, made.bias = folded(self)
        return made


def folded(mod: Any) -> tuple[Any, Any]:
    """Return the weight and bias of the layer with the normalization folded in."""
    bn = mod.bn
    return fuse_linear_bn_weights(mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
