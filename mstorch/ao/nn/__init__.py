"""torch.ao.nn: fused, fake-quantized and quantized layers."""
from ..._src.hook import missing as _missing

__all__ = ["intrinsic", "qat", "quantizable", "quantized"]

__getattr__ = _missing(__name__, ("intrinsic", "qat", "quantizable", "quantized"))
