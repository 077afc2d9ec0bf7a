"""torch.ao.nn.intrinsic.quantized.dynamic.modules: fused, dynamically quantized layers."""
from ......._src.hook import missing as _missing
from .linear_relu import LinearReLU

__all__ = ["LinearReLU"]

__getattr__ = _missing(__name__)
