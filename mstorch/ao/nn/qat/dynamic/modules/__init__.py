"""torch.ao.nn.qat.dynamic.modules: layers with fake-quantized weights, for dynamic quantization."""
from ......_src.hook import missing as _missing
from .linear import Linear

__all__ = ["Linear"]

__getattr__ = _missing(__name__)
