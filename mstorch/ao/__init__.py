"""torch.ao: quantization, layers and tools of eager quantization."""
from .._hook import missing as _missing
from . import nn, quantization

__all__ = ["nn", "quantization"]

__getattr__ = _missing(__name__)
