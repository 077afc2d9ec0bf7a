"""mamba_ssm.modules.ssd_minimal: the scan of Mamba-2 with inputs and decays that are multiplied by the steps already (section 6)."""
from __future__ import annotations

import mstorch as torch

from ..ops.triton.ssd_combined import chunked

Tensor = torch.Tensor


def segsum(x: Tensor) -> Tensor:
    """Return the sums of x[j + 1] to x[i] for all i and j, minus infinity where j is greater than i."""
    size = x.shape[-1]
    lower = torch.ones(size, size, dtype=torch.bool, device=x.device).tril()
    terms = x.unsqueeze(-1).expand(*x.shape, size).masked_fill(~lower.tril(-1), 0)
    return terms.cumsum(-2).masked_fill(~lower, -torch.inf)


def ssd_minimal_discrete(
    X: Tensor, A: Tensor, B: Tensor, C: Tensor, block_len: int, initial_states: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the outputs (batch, places, heads, size) and the last states for decays A (batch, places, heads)."""
    if not X.dtype == A.dtype == B.dtype == C.dtype or X.shape[1] % block_len:
        raise AssertionError("X, A, B and C must have one dtype, and block_len must divide the number of places")
    first = None if initial_states is None else initial_states.squeeze(1)
    outputs, _, final, _ = chunked(X, A, B, C, block_len, None, first)
    return outputs, final


__all__ = ["segsum", "ssd_minimal_discrete"]
