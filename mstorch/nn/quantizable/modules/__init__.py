"""torch.nn.quantizable.modules: the deprecated name of torch.ao.nn.quantizable.modules."""
from ....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
