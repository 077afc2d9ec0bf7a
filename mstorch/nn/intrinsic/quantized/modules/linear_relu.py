"""torch.nn.intrinsic.quantized.modules.linear_relu: the deprecated name of torch.ao.nn.intrinsic.quantized.modules.linear_relu."""
from .....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
