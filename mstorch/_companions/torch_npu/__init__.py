"""torch_npu, the package that scripts for Ascend devices import; it exists if `import torch` imports mstorch and MindSpore computes on an
Ascend device. Its operators are those of ``torch.ops.npu``, with torch_npu 2.14's signatures.
"""
from __future__ import annotations

import sys as _sys
import typing as _typing
from typing import Any

from ... import npu as npu
from ..._src.version import TORCH_API
from ..._src.version import __version__ as _own
from . import attention as _attention
from . import backward as _backward
from . import caches as _caches
from . import collectives as _collectives
from . import contrib as contrib
from . import convolutions as _convolutions
from . import experts as _experts
from . import forms as _forms
from . import inference as _inference
from . import layers as _layers
from . import mx as _mx
from . import names as _names
from . import older as _older
from . import optim as optim
from . import profiler as profiler
from . import quantised as _quantised
from . import regions as _regions
from . import registered as _registered
from . import routing as _routing
from . import utils as utils
from .names import Format, HiFloat8Tensor, empty_with_swapped_memory, unsupported_dtype

__version__ = f"{TORCH_API}+mstorch{_own}"
_ROOMS = (
    "attention", "backward", "caches", "collectives", "convolutions", "experts", "forms", "inference", "layers", "mx", "older", "quantised",
    "regions", "routing",
)  # fmt: skip
_OPERATORS = _registered.public(_registered.register(_registered.functions_of(*_ROOMS)))
"""The operators by name. Their functions are in the modules above."""
globals().update(_OPERATORS | _names.CODES)
_C = _names.compiled_module()
_sys.modules.setdefault("torch_npu._C", _C)
_sys.modules.setdefault("torch_npu._C._distributed_c10d", _C._distributed_c10d)

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise AttributeError(f"module 'torch_npu' has no attribute '{name}' (mstorch {_own} does not provide it yet)", name=name)

else:

    def __getattr__(name: str) -> Any: ...  # the operators


__all__ = [*_OPERATORS, *_names.CODES, "Format", "HiFloat8Tensor", "empty_with_swapped_memory", "unsupported_dtype"]
