"""torch._library.infer_schema: an operator's schema from the annotations of its function."""
from .schema import infer_schema

__all__ = ["infer_schema"]
