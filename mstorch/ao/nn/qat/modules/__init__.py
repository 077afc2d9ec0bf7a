"""torch.ao.nn.qat.modules: layers with fake-quantized weights."""
from ....._src.hook import missing as _missing
from .conv import Conv1d, Conv2d, Conv3d
from .linear import Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]

__getattr__ = _missing(__name__)
