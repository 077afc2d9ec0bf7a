"""torch.ao.nn.qat: layers with fake-quantized weights."""
from ...._src.hook import missing as _missing
from .modules import Conv1d, Conv2d, Conv3d, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]

__getattr__ = _missing(__name__, ("dynamic",))
