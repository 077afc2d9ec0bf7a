"""torch.quantization.utils: deprecated location of torch.ao.quantization.utils."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
