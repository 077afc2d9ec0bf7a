"""torch._library.infer_schema: an operator's schema by its function's annotations."""
from __future__ import annotations

from .schema import infer_schema

__all__ = ["infer_schema"]
