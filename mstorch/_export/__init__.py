"""torch._export: the names that tensor subclasses use."""

from .._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("wrappers",))  # torch's import binds these, too
