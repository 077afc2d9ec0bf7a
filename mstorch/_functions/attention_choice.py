"""Which of torch's ways attention would take on the CPU: a number of ``SDPBackend``, that packages ask for."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor_base import is_tracked, strides_of

MATH, FLASH = 0, 1
ALLOWED: list[Callable[[], Any]] = []  # gives the ways that ``torch.nn.attention`` allows
_DTYPES = frozenset(("float32", "float64", "float16", "bfloat16"))


def _fused_sdp_choice(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: Any = None,
    enable_gqa: bool = False,
) -> int:  # fmt: skip
    """1 (flash) where torch has a kernel in one piece on the CPU, else 0 (math)."""
    if ALLOWED and FLASH not in map(int, ALLOWED[0]()):
        return MATH
    parts = query, key, value
    ranks = {len(part._shape) for part in parts}
    if ranks != {4} or dropout_p > 0 or query._dtype.name not in _DTYPES or any(0 in part._shape for part in parts):
        return MATH
    (batch, heads, _, width), shapes = query._shape, [part._shape for part in parts[1:]]
    if any(shape[0] != batch or shape[3] != width for shape in shapes) or any(strides_of(part)[3] != 1 for part in parts):
        return MATH
    if any(shape[1] != heads and not enable_gqa for shape in shapes):
        return MATH
    return FLASH if attn_mask is None or not is_tracked(attn_mask) and len(attn_mask._shape) in (2, 4) else MATH

