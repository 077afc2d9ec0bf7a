"""torch.testing._internal: the test case that packages' own tests derive from."""
from __future__ import annotations

from ..._hook import missing as _missing

__all__: list[str] = []

__getattr__ = _missing(__name__, ("common_utils",))
