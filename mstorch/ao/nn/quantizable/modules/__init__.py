"""torch.ao.nn.quantizable.modules: layers that can be observed inside; none is built."""
from ....._hook import missing as _missing

__all__ = []

__getattr__ = _missing(__name__)
