"""torch.testing._internal: base classes of packages' own tests."""
from __future__ import annotations

from ..._src.hook import missing as _missing

__all__: list[str] = []

__getattr__ = _missing(__name__, ("common_utils", "optests"))
