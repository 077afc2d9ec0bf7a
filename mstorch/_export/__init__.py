"""torch._export: what classes of tensors use of it."""

from .._hook import missing as _missing

__getattr__ = _missing(__name__, ("wrappers",))  # torch's import binds these, too
