"""torch.utils."""
from .._hook import missing as _missing
from . import checkpoint, data, dlpack, hooks
from ._swap import swap_tensors

__all__ = ["checkpoint", "data", "dlpack", "hooks", "swap_tensors"]

__getattr__ = _missing(__name__, ("_pytree", "collect_env", "deterministic", "weak"))
