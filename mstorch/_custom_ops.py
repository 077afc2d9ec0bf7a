"""torch._custom_ops: deprecated names of torch.library's functions."""
from .library import custom_op, get_ctx, impl, impl_abstract

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract"]
