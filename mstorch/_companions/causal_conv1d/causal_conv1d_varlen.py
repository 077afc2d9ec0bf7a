"""causal_conv1d.causal_conv1d_varlen: the last inputs of sequences that lie one after the other."""

from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def causal_conv1d_varlen_states(x: Tensor, cu_seqlens: Tensor, state_len: int) -> Tensor:
    """Return the last ``state_len`` inputs of each sequence (sequences, channels, state_len), after zeros where it is shorter. ``x`` is
    (places, channels), ``cu_seqlens`` the bounds of the sequences."""
    ends = cu_seqlens[1:, None].long()
    places = ends + torch.arange(-state_len, 0, device=x.device)
    inside = places >= cu_seqlens[:-1, None]
    rows = x.detach()[places.clamp(min=0)] if x.shape[0] else x.new_zeros(*places.shape, x.shape[1])
    return torch.where(inside.unsqueeze(-1), rows, 0).transpose(1, 2)


def causal_conv1d_varlen_states_ref(x: Tensor, cu_seqlens: Tensor, state_len: int) -> Tensor:
    """Return the same."""
    return causal_conv1d_varlen_states(x, cu_seqlens, state_len)


__all__ = ["causal_conv1d_varlen_states", "causal_conv1d_varlen_states_ref"]
