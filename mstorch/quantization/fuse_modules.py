"""torch.quantization.fuse_modules: deprecated location of torch.ao.quantization.fuse_modules."""
from ..ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__)
