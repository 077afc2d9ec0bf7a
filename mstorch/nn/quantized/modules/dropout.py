"""torch.nn.quantized.modules.dropout: the deprecated name of torch.ao.nn.quantized.modules.dropout."""
from ....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
