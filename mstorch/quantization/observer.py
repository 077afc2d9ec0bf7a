"""torch.quantization.observer: deprecated location of torch.ao.quantization.observer."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
