"""torch.nn.qat.dynamic: the deprecated name of torch.ao.nn.qat.dynamic."""
from ....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
