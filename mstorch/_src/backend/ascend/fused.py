"""Attention and optimizer steps on Ascend, one fused kernel each."""
from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..device_memory import full
from ..raw import NAME_OF, Raw, from_numpy, raw_dtype
from ..table import HALVES
from ._primitives import absent, enter, run

_FAR = 2**31 - 1  # number of keys before and after a query that are attended to: all
_SIDE = 2048  # side of the compressed triangle, which represents a triangle of any size
_KINDS = ("float32", *HALVES)  # dtypes in CANN's documentation of aclnnFlashAttentionScore and its gradient (8.0 to 8.2)


@lru_cache(1)
def _triangle() -> Raw:
    """Return a causal mask in the kernel's compressed form."""
    return from_numpy(np.triu(np.ones((_SIDE, _SIDE), np.uint8), 1))


def _attributes(q: Raw, scale: float, causal: bool, layout: str, keep: float) -> tuple[object, ...]:
    return q.shape[layout.index("N")], float(keep), float(scale), _FAR, _FAR, 0, layout, 2 if causal else 0


def _masks(mask: Raw | None, causal: bool) -> tuple[Raw | None, Raw | None]:
    """Return the mask as that which is added to the scores, before the kernel scales them, and as that which is True where a key is hidden.
    """
    if causal:
        return None, _triangle()
    return (None, mask) if mask is None or NAME_OF[raw_dtype(mask)] == "bool" else (mask, None)


def _attention(
    q: Raw, k: Raw, v: Raw, mask: Raw | None, bits: Raw | None, scale: float, causal: bool, layout: str, keep: float
) -> tuple[Raw, Raw, Raw]:  # fmt: skip
    added, hidden = _masks(mask, causal)
    found = run("FlashAttentionScore", q, k, v, added, bits, None, hidden, at=_attributes(q, scale, causal, layout, keep))
    return found[3], found[0], found[1]


def _attention_grad(
    g: Raw, q: Raw, k: Raw, v: Raw, mask: Raw | None, bits: Raw | None, found: Raw, top: Raw, total: Raw, scale: float, causal: bool,
    layout: str, keep: float,
) -> tuple[Raw, Raw, Raw]:  # fmt: skip
    added, hidden = _masks(mask, causal)
    attributes = _attributes(q, scale, causal, layout, keep)
    slopes = run("FlashAttentionScoreGrad", q, k, v, g, added, bits, None, hidden, top, total, None, found, at=attributes)
    return slopes[0], slopes[1], slopes[2]


def _sparse(q: Raw, scale: float, reach: tuple[str, int, int]) -> tuple[tuple[object, ...], Raw | None]:
    """Return the attributes of attention of sequences, and its mask in the kernel's compressed form."""
    corner, before, after = reach
    whole = (before, after) == (_FAR, 0)
    mode = 0 if not corner else 4 if not whole else 3 if corner == "last" else 2
    sides = (before, after) if corner else (_FAR, _FAR)
    return (q.shape[1], 1.0, float(scale), *sides, 0, "TND", mode), _triangle() if corner else None


def _packed_attention(
    q: Raw, k: Raw, v: Raw, q_ends: tuple[int, ...], k_ends: tuple[int, ...], scale: float, reach: tuple[str, int, int]
) -> tuple[Raw, Raw, Raw]:  # fmt: skip
    attributes, hidden = _sparse(q, scale, reach)
    found = run("FlashAttentionScore", q, k, v, None, None, None, hidden, None, q_ends, k_ends, at=attributes)
    return found[3], found[0], found[1]


def _packed_attention_grad(
    g: Raw, q: Raw, k: Raw, v: Raw, found: Raw, top: Raw, total: Raw, q_ends: tuple[int, ...], k_ends: tuple[int, ...], scale: float,
    reach: tuple[str, int, int],
) -> tuple[Raw, Raw, Raw]:  # fmt: skip
    attributes, hidden = _sparse(q, scale, reach)
    given = (q, k, v, g, None, None, None, hidden, top, total, None, found, None, q_ends, k_ends)
    slopes = run("FlashAttentionScoreGrad", *given, at=attributes)
    return slopes[0], slopes[1], slopes[2]


def _adamw_step(
    param: Raw, grad: Raw, mean: Raw, square: Raw, done: float | Raw, lr: float, beta1: float, beta2: float, decay: float, eps: float,
    maximize: bool,
) -> tuple[Raw, Raw, Raw]:  # fmt: skip
    """Run one AdamW step in place. ``done`` is the number of steps before this one; a number is written on the device, not sent."""
    count = done if isinstance(done, Raw) else full((), done, "float32")
    run("AdamW", param, mean, square, square, grad, count, lr, beta1, beta2, decay, eps, False, maximize)
    return param, mean, square


enter("attention", _attention, _KINDS)
enter("attention_grad", _attention_grad, _KINDS)
enter("packed_attention", _packed_attention, _KINDS)
enter("packed_attention_grad", _packed_attention_grad, _KINDS)
enter("drop", "DropoutDoMaskExt", _KINDS)
enter("addmm", "Addmm", _KINDS)
enter("baddbmm", "Baddbmm", _KINDS)
enter("lerp_scalar", "LerpScalar", _KINDS)
enter("add_product", "AddcmulExt", _KINDS)
enter("adamw_step", _adamw_step, ("float32",))
absent("two kernels update all parameters of a step, which are adjacent in memory", "momentum_step")
enter("add_scaled", lambda x, y, scale: run("AddExt", x, y, scale), ("float32",))  # MindSpore rounds the scale to single precision
