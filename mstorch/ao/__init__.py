"""torch.ao: quantization, as far as modules mention it."""
from .._hook import missing as _missing
from . import quantization

__all__ = ["quantization"]

__getattr__ = _missing(__name__)
