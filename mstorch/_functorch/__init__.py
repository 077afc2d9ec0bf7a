"""torch._functorch: the names that programs import besides ``torch.func``."""
from .._src.hook import missing as _missing

# ``torch.func`` takes ``vmap`` from here, and the other modules take ``torch.func``.
__getattr__ = _missing(__name__, ("apis", "autograd_function", "config", "deprecated", "eager_transforms", "make_functional", "vmap"))
