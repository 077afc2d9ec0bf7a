"""torch.ao.nn.intrinsic.quantized: fused layers on quantized tensors."""
from ....._src.hook import missing as _missing
from .modules import BNReLU2d, BNReLU3d, ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]

__getattr__ = _missing(__name__, ("dynamic",))
