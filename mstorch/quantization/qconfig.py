"""torch.quantization.qconfig: deprecated location of torch.ao.quantization.qconfig."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
