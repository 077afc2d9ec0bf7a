"""The ``SDPBackend`` that torch would choose for attention on the CPU, which packages query."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ..core.tensor_base import is_tracked

MATH, FLASH = 0, 1
ALLOWED: list[Callable[[], list[int]]] = []  # functions that return the backends which ``torch.nn.attention`` allows
FASTPATH = {"fastpath": True}  # set by ``torch.backends.mha``
_DTYPES = frozenset(("float32", "float64", "float16", "bfloat16"))


def _fused_sdp_choice(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: Any = None, enable_gqa: bool = False,
) -> int:  # fmt: skip
    """Return 1 (flash) if torch has a fused CPU kernel for the call, else 0 (math); raise RuntimeError if neither is allowed."""
    allowed = ALLOWED[0]() if ALLOWED else [MATH, FLASH]
    if FLASH not in allowed:
        if MATH not in allowed:
            raise RuntimeError(
                "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel and "
                "the fused kernels."
            )
        return MATH
    if serves_in_one_piece(query, key, value, attn_mask, dropout_p, enable_gqa):
        return FLASH
    if MATH not in allowed:
        raise RuntimeError("No available kernel.  Aborting execution.")
    return MATH


def refuse_what_is_not_allowed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, enable_gqa: bool) -> None:
    """Raise torch's error if ``torch.nn.attention`` has disabled the backend that torch would choose on the CPU."""
    if ALLOWED and MATH not in ALLOWED[0]() and not any(0 in part._ms_shape for part in (query, key, value)):
        _fused_sdp_choice(query, key, value, mask, dropout_p, enable_gqa=enable_gqa)


def goes_in_one_piece(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool = False
) -> bool:
    """Return whether torch would choose its fused (flash) kernel on the CPU: it supports the call and is not disabled."""
    allowed = not ALLOWED or FLASH in ALLOWED[0]()
    return allowed and serves_in_one_piece(query, key, value, attn_mask, dropout_p, enable_gqa)


def serves_in_one_piece(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool) -> bool:
    """Return whether torch's fused CPU kernel supports attention on these tensors, by rank, shape, strides, dtype, mask and dropout."""
    if query._ms_nested or key._ms_nested or value._ms_nested:
        return False
    own, keys, values = query._ms_shape, key._ms_shape, value._ms_shape
    if not len(own) == len(keys) == len(values) == 4:
        return False
    if dropout_p > 0 or query._ms_dtype.name not in _DTYPES or 0 in own or 0 in keys or 0 in values:
        return False
    if not own[0] == keys[0] == values[0] or not own[3] == keys[3] == values[3]:
        return False
    if not (enable_gqa or own[1] == keys[1] == values[1]):
        return False
    for part in (query, key, value):
        if part._ms_stride is not None and part._ms_stride[3] != 1:
            return False
    return attn_mask is None or not is_tracked(attn_mask) and len(attn_mask._ms_shape) in (2, 4)

