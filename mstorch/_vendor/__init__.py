"""torch._vendor: packages that are bundled with torch."""

from .._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("packaging",))  # torch's import binds these, too
