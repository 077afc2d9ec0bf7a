"""torch.ao.nn.qat.modules.linear: a linear layer with fake-quantized weight."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..... import nn
from ....._src.core.device import device
from ....._tensor import Tensor
from .....nn import functional as F
from .....nn.modules.module import Module
from .....nn.utils.parametrize import (
    is_parametrized,
    transfer_parametrizations_and_params,
    type_before_parametrizations,
)
from ...intrinsic.modules.fused import LinearReLU

if TYPE_CHECKING:
    from ....quantization.qconfig import QConfig

__all__ = ["Linear"]


def expect_qconfig(qconfig: QConfig | None) -> Any:
    """Return ``qconfig``. Raise AssertionError if it is None."""
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    return qconfig


def expect_float(cls: type[Any], mod: Any, end: str = "") -> Any:
    """Return the qconfig of a float module. Raise AssertionError if it is of the wrong class, or has none."""
    if type_before_parametrizations(mod) != cls._FLOAT_MODULE:
        raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}{end}")
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if not mod.qconfig:
        raise AssertionError("Input float module must have a valid qconfig")
    return mod.qconfig


def take_values(float_module: Module, plain: Any, *names: str) -> Module:
    """Copy another module's parameters to a float module, as new Parameters."""
    for name in names:
        if getattr(plain, name) is not None:
            setattr(float_module, name, nn.Parameter(getattr(plain, name).detach()))
    return float_module


class Linear(nn.Linear):
    """A linear layer with fake-quantized weight."""

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: int | str | device | None = None,
        dtype: Any = None
    ) -> None:
        made = {"device": device, "dtype": dtype}
        super().__init__(in_features, out_features, bias, **made)
        self.qconfig = expect_qconfig(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs=made)

    def forward(self, input: Tensor) -> Tensor:
        """Run the layer with the weight fake-quantized."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a float layer with a ``qconfig``."""
        expect_float(cls, mod, f", got {type_before_parametrizations(mod).__name__}")
        if type_before_parametrizations(mod) == LinearReLU:
            mod = mod[0]
        made = cls(mod.in_features, mod.out_features, bias=mod.bias is not None, qconfig=mod.qconfig)
        for name in ("weight", "bias"):
            if is_parametrized(mod, name):
                transfer_parametrizations_and_params(mod, made, name)
            else:
                setattr(made, name, getattr(mod, name))
        return made

    def to_float(self) -> Any:
        """Return the float layer with these parameters."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        take_values(made, self, "weight", "bias")
        made.train(self.training)
        return made
