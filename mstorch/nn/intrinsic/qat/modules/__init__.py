"""torch.nn.intrinsic.qat.modules: the deprecated name of torch.ao.nn.intrinsic.qat.modules."""
from .....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
