"""torch.ao.nn.qat.dynamic: layers whose weights are rounded in training, for inputs that are quantized as they come."""
from ....._hook import missing as _missing
from .modules import Linear

__all__ = ["Linear"]

__getattr__ = _missing(__name__)
