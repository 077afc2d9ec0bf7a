"""torch.quantization.quantization_mappings: deprecated location of torch.ao.quantization.quantization_mappings."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
