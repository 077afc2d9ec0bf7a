"""torch.ao.nn.quantizable: layers with inner observers; none is implemented."""
from ...._src.hook import missing as _missing

__all__ = []

__getattr__ = _missing(__name__, ("modules",))
