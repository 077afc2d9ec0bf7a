"""torch.nn.intrinsic.quantized: the deprecated name of torch.ao.nn.intrinsic.quantized."""
from ....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
