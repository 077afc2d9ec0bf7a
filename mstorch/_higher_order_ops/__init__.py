"""torch._higher_order_ops: operators that take functions."""
from __future__ import annotations

from .associative_scan import associative_scan
from .scan import scan

__all__ = ["associative_scan", "scan"]
