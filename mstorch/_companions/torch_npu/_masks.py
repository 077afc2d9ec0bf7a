"""Attention masks for the sparse modes of Ascend's operators."""
from __future__ import annotations

from typing import Any

import mstorch as torch

SIDE = 2048  # side of the compressed mask, which represents a mask of any size in modes 2 to 4
MODES = "0 (a whole mask), 1 (all of a mask), 2 (causal from the top left), 3 (causal from the bottom right), 4 (a band)"


def band(queries: int, keys: int, before: int, after: int, shift: int, device: int | str | torch.device) -> Any:
    """Return a (queries, keys) mask that is True for keys outside of the band from i + ``shift`` - ``before`` to i + ``shift`` + ``after``
    of query i."""
    distance = torch.arange(keys, device=device)[None, :] - torch.arange(queries, device=device)[:, None] - shift
    return (distance < -before) | (distance > after)


def hidden(mask: Any, mode: int, before: int, after: int, shape: tuple[int, int], device: int | str | torch.device) -> tuple[Any, bool]:
    """Return the attention mask of a sparse mode, and whether the kernel is to use its own causal mask instead; in this case the mask is
    None. The mask is True for keys that are masked out; None if there are none."""
    queries, keys = shape
    if mode == 0 or mode == 1:
        if mask is None:
            if mode == 1:
                raise RuntimeError("attention with sparse_mode=1 needs an atten_mask")
            return None, False
        mask = as_bool(mask)
        far = max(queries, keys)
        if mode == 1 or (before >= far and after >= far):
            return mask, False
        return mask | band(queries, keys, before, after, 0, device), False
    if mode not in (2, 3, 4):
        raise NotImplementedError(f"mstorch: attention with sparse_mode={mode}; there are {MODES}")
    if mask is None or tuple(mask.shape[-2:]) != (SIDE, SIDE):
        given = "none" if mask is None else list(mask.shape)
        raise RuntimeError(
            f"attention with sparse_mode={mode} needs an atten_mask of [{SIDE}, {SIDE}] that is True above the diagonal, got {given}"
        )
    shift = 0 if mode == 2 else keys - queries
    if mode < 4 and shift == 0:
        return None, True
    return band(queries, keys, before if mode == 4 else keys + queries, after if mode == 4 else 0, shift, device), False


def as_bool(mask: Any) -> Any:
    """Return a mask as bool, from bool, uint8 or int8."""
    if mask.dtype not in (torch.bool, torch.uint8, torch.int8):
        raise RuntimeError(f"atten_mask must be bool, uint8 or int8, got {mask.dtype}")
    return mask if mask.dtype is torch.bool else mask.ne(0)
