"""torch.ao: quantization, and quantized layers."""
from .._src.hook import missing as _missing
from . import nn, quantization

__all__ = ["nn", "quantization"]

__getattr__ = _missing(__name__)
