"""torch_npu, as users of Ascend devices import it: a package where `import torch` gets mstorch and MindSpore computes on one."""
from __future__ import annotations

from .. import npu as npu
from .._version import TORCH_API
from .._version import __version__ as _own

__version__ = f"{TORCH_API}+mstorch{_own}"
