"""torch._vendor.packaging: the installed `packaging`."""

from ..._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("version",))  # torch's import binds these, too
