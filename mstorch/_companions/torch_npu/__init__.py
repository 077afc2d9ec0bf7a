"""torch_npu, the package that scripts for Ascend devices import; it exists if `import torch` imports mstorch and MindSpore computes on an
Ascend device. Its operators are those of ``torch.ops.npu``, with torch_npu 2.14's signatures.
"""
from __future__ import annotations

import sys as _sys
from typing import Any

from ... import npu as npu
from ..._src.version import TORCH_API
from ..._src.version import __version__ as _own
from . import (
    attention,
    backward,
    caches,
    collectives,
    convolutions,
    experts,
    forms,
    inference,
    layers,
    mx,
    older,
    quantised,
    regions,
    routing,
    sparse,
)
from . import contrib as contrib
from . import names as _names
from . import optim as optim
from . import profiler as profiler
from . import registered as _registered
from . import utils as utils
from .names import Format, HiFloat8Tensor, empty_with_swapped_memory, unsupported_dtype

__version__ = f"{TORCH_API}+mstorch{_own}"
_ROOMS = (
    attention, backward, caches, collectives, convolutions, experts, forms, inference, layers, mx, older, quantised, regions, routing,
    sparse,
)  # fmt: skip
_OPERATORS = _registered.public(_registered.register(_registered.functions_of(*_ROOMS)))
"""The operators by name. Their functions are in the modules above."""
_NAMES = {**_OPERATORS, **_names.CODES}
_C = _names.compiled_module()
_sys.modules.setdefault("torch_npu._C", _C)
_sys.modules.setdefault("torch_npu._C._distributed_c10d", _C._distributed_c10d)


def __getattr__(name: str) -> Any:
    """Return an operator, or the number of a dtype."""
    if name in _NAMES:
        return _NAMES[name]
    raise AttributeError(f"module 'torch_npu' has no attribute '{name}' (mstorch {_own} does not provide it yet)", name=name)


def __dir__() -> list[str]:
    """Return the names of the module, the operators' included."""
    return sorted({*vars(_sys.modules[__name__]), *_NAMES})


__all__ = [*_NAMES, "Format", "HiFloat8Tensor", "empty_with_swapped_memory", "unsupported_dtype"]
