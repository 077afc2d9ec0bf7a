"""torch.utils."""
from .._hook import missing as _missing
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]

__getattr__ = _missing(__name__, ("_pytree", "deterministic", "weak"))
