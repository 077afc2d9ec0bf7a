"""torch.ao.nn.qat.dynamic: layers with fake-quantized weights, for dynamic quantization."""
from ....._src.hook import missing as _missing
from .modules import Linear

__all__ = ["Linear"]

__getattr__ = _missing(__name__)
