"""``torch._ops``: programs import from it ``torch.ops`` and the classes of its operators."""
from __future__ import annotations

from ._src.ops import __getattr__ as __getattr__

__path__: list[str] = []  # modules that had names below this one are found by ``_src/former_names.py``
