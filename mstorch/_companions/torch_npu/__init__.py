"""torch_npu, the package that scripts for Ascend devices import; it exists if `import torch` imports mstorch and MindSpore computes on an
Ascend device.
"""
from __future__ import annotations

from ... import npu as npu
from ..._src.version import TORCH_API
from ..._src.version import __version__ as _own
from . import contrib as contrib
from . import optim as optim
from . import profiler as profiler
from . import utils as utils
from .attention import npu_fusion_attention, npu_incre_flash_attention, npu_prompt_flash_attention
from .convolutions import npu_conv2d, npu_deformable_conv2d, npu_deformable_conv2dbk
from .experts import (
    npu_grouped_matmul,
    npu_moe_compute_expert_tokens,
    npu_moe_finalize_routing,
    npu_moe_gating_top_k_softmax,
    npu_moe_init_routing,
    npu_moe_token_permute,
    npu_moe_token_unpermute,
)
from .forms import (
    get_npu_format,
    npu_broadcast,
    npu_confusion_transpose,
    npu_dtype_cast,
    npu_format_cast,
    npu_format_cast_,
    npu_scatter_nd_update,
    npu_scatter_nd_update_,
    npu_transpose,
)
from .layers import (
    fast_gelu,
    npu_add_rms_norm,
    npu_fast_gelu,
    npu_geglu,
    npu_gelu,
    npu_layer_norm_eval,
    npu_linear,
    npu_mish,
    npu_rms_norm,
    npu_rotary_mul,
    npu_silu,
    npu_swiglu,
)

__version__ = f"{TORCH_API}+mstorch{_own}"


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'torch_npu' has no attribute '{name}' (mstorch {_own} does not provide it yet)", name=name)


__all__ = [
    "fast_gelu", "get_npu_format", "npu_add_rms_norm", "npu_broadcast", "npu_confusion_transpose", "npu_conv2d",
    "npu_deformable_conv2d", "npu_deformable_conv2dbk", "npu_dtype_cast", "npu_fast_gelu",
    "npu_format_cast", "npu_format_cast_", "npu_fusion_attention", "npu_geglu", "npu_gelu", "npu_grouped_matmul",
    "npu_incre_flash_attention",
    "npu_layer_norm_eval", "npu_linear", "npu_mish", "npu_moe_compute_expert_tokens", "npu_moe_finalize_routing",
    "npu_moe_gating_top_k_softmax", "npu_moe_init_routing", "npu_moe_token_permute", "npu_moe_token_unpermute",
    "npu_prompt_flash_attention", "npu_rms_norm", "npu_rotary_mul", "npu_scatter_nd_update", "npu_scatter_nd_update_", "npu_silu",
    "npu_swiglu", "npu_transpose",
]  # fmt: skip
