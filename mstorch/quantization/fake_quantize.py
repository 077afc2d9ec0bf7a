"""torch.quantization.fake_quantize: deprecated location of torch.ao.quantization.fake_quantize."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
