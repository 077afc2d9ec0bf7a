"""torch.ao.nn.intrinsic.quantized.dynamic: fused layers with quantized weights."""
from ......_hook import missing as _missing
from .modules import LinearReLU

__all__ = ["LinearReLU"]

__getattr__ = _missing(__name__)
