"""torch.ao.nn.intrinsic.quantized.dynamic: fused, dynamically quantized layers."""
from ......_src.hook import missing as _missing
from .modules import LinearReLU

__all__ = ["LinearReLU"]

__getattr__ = _missing(__name__)
