"""torch.quantization.quant_type: deprecated location of torch.ao.quantization.quant_type."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
