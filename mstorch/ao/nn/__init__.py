"""torch.ao.nn: layers that are fused, rounded in training, or quantized."""
from ..._hook import missing as _missing

__all__ = ["intrinsic", "qat", "quantizable", "quantized"]

__getattr__ = _missing(__name__, ("intrinsic", "qat", "quantizable", "quantized"))
