"""User-defined operators: schemas, the registry, calls."""

from .._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("custom_ops", "infer_schema", "triton"))  # torch's import binds these, too
