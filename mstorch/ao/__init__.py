"""torch.ao: quantization, as far as modules mention it."""
from . import quantization

__all__ = ["quantization"]
