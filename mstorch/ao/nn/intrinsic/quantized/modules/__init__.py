"""torch.ao.nn.intrinsic.quantized.modules: fused layers on quantized tensors."""
from ......_src.hook import missing as _missing
from .bn_relu import BNReLU2d, BNReLU3d
from .conv_relu import ConvReLU1d, ConvReLU2d, ConvReLU3d
from .linear_relu import LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]

__getattr__ = _missing(__name__)
