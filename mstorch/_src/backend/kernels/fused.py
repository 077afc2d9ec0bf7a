"""Attention and optimizer steps as kernels of devices only: on the CPU attention is composed, and optimizer steps run on host memory."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..host import fused
from ..raw import Raw, from_numpy
from ..table import FLOATS, HALVES, define


def _of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of NumPy arrays as a function of MindSpore tensors."""

    def call(*args: Any) -> Any:
        found = function(*[item.asnumpy() if isinstance(item, Raw) else item for item in args])
        return tuple(map(from_numpy, map(np.ascontiguousarray, found))) if isinstance(found, tuple) else from_numpy(found)

    return call


_REASON = "the CPU never asks for this row: the operation has a form of its own there"
numpy_attention, numpy_attention_grad = _of_arrays(fused.attention), _of_arrays(fused.attention_grad)
numpy_adamw_step, numpy_add_scaled = _of_arrays(fused.adamw_step), _of_arrays(fused.add_scaled)
numpy_scaled_product = _of_arrays(fused.scaled_product)
_KINDS = ("float32", *HALVES)
define("attention", cpu=numpy_attention, dtypes=_KINDS, numpy_reason=_REASON)
define("attention_grad", cpu=numpy_attention_grad, dtypes=_KINDS, numpy_reason=_REASON)
define("packed_attention", cpu=_of_arrays(fused.packed_attention), dtypes=_KINDS, numpy_reason=_REASON)
define("packed_attention_grad", cpu=_of_arrays(fused.packed_attention_grad), dtypes=_KINDS, numpy_reason=_REASON)
define("addmm", cpu=numpy_scaled_product, dtypes=_KINDS, numpy_reason=_REASON)
define("baddbmm", cpu=numpy_scaled_product, dtypes=_KINDS, numpy_reason=_REASON)
define("lerp_scalar", cpu=_of_arrays(fused.lerp_scalar), dtypes=_KINDS, numpy_reason=_REASON)
define("add_product", cpu=_of_arrays(fused.add_product), dtypes=_KINDS, numpy_reason=_REASON)
define("adamw_step", cpu=numpy_adamw_step, dtypes=FLOATS, numpy_reason=_REASON)
define("momentum_step", cpu=_of_arrays(fused.momentum_step), dtypes=FLOATS, numpy_reason=_REASON)
define("add_scaled", cpu=numpy_add_scaled, dtypes=FLOATS, numpy_reason=_REASON)
