"""Products of small integers and packed four-bit integers, with which torch_npu's quantised operators are written."""
from __future__ import annotations

from typing import Any

import mstorch as torch

_PLAIN = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
_EXACT = 1024  # so many products of two int8 have an exact sum in float32


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the int32 product of int8 matrices: float32 products of pieces whose sums are exact, because devices multiply floats."""
    pieces = [
        (a.float() @ b.float()).to(torch.int32) for a, b in zip(x.split(_EXACT, -1), y.split(_EXACT, -2))
    ]  # fmt: skip
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    return total


def unpacked(x: torch.Tensor) -> torch.Tensor:
    """Return the int8 numbers of int32 words that hold eight signed four-bit numbers each, the first one in the lowest bits."""
    shifts = torch.arange(0, 32, 4, dtype=torch.int32, device=x.device)
    small = (x.unsqueeze(-1) >> shifts) & 15
    return torch.where(small > 7, small - 16, small).to(torch.int8).flatten(-2)


def packed(x: torch.Tensor) -> torch.Tensor:
    """Return int32 words that hold eight of the numbers from -8 to 7 of the last dimension each."""
    if x.shape[-1] % 8:
        raise RuntimeError(f"eight numbers of four bits are one word: the last dimension of {list(x.shape)} is no multiple of 8")
    small = (x.to(torch.int64) & 15).unflatten(-1, (-1, 8))
    words = (small << torch.arange(0, 32, 4, dtype=torch.int64, device=x.device)).sum(-1)
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)


def rounded(x: torch.Tensor, kind: Any) -> torch.Tensor:
    """Return numbers rounded to a dtype and held to its range; ``int4`` is packed into int32."""
    kind = _PLAIN.get(kind, kind)
    if kind in ("int4", torch.quint4x2):
        return packed(x.round().clamp(-8, 7))
    if kind in (torch.int8, torch.uint8, torch.int32, torch.int16):
        limits = torch.iinfo(kind)
        return x.round().clamp(limits.min, limits.max).to(kind)
    if kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        most = torch.finfo(kind).max
        return x.clamp(-most, most).to(kind)
    raise NotImplementedError(f"mstorch: numbers quantised to {kind}")


def greatest(kind: Any) -> float:
    """Return the greatest number of a dtype to which absolute values are scaled."""
    kind = _PLAIN.get(kind, kind)
    if kind in ("int4", torch.quint4x2):
        return 7.0
    if kind is torch.int8:
        return 127.0
    if kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        return float(torch.finfo(kind).max)
    raise NotImplementedError(f"mstorch: numbers quantised to {kind}")


def plain_scale(scale: Any) -> torch.Tensor:
    """Return the float32 scale of ``npu_trans_quant_param``'s int64 words; other scales in float32."""
    if scale.dtype is torch.int64:
        bits = scale & 0xFFFFFFFF
        return torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32).view(torch.float32)
    return scale.float()


__all__ = ["greatest", "packed", "plain_scale", "product", "rounded", "unpacked"]
