"""torch.nn.quantized.modules.utils: the deprecated name of torch.ao.nn.quantized.modules.utils."""
from ....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
