"""torch.ao.nn.intrinsic: fused layers."""
from ...._src.hook import missing as _missing
from .modules import (
    BNReLU2d,
    BNReLU3d,
    ConvAdd2d,
    ConvAddReLU2d,
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    LinearBn1d,
    LinearLeakyReLU,
    LinearReLU,
    LinearTanh,
)  # fmt: skip
from .modules.fused import _FusedModule as _FusedModule

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d",
    "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU", "LinearReLU", "LinearTanh",
]  # fmt: skip

__getattr__ = _missing(__name__, ("modules", "qat", "quantized"))
